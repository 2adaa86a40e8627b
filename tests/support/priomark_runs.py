# SPDX-License-Identifier: Apache-2.0
"""What the tests of PRIOMark's kernel share: running it on a workload that a test writes, and looking at what it
left."""

import kernel_runs
import pytest
from builds import ROOT, compiled

KIB, MIB = 2**10, 2**20
SOURCES = ROOT / "tests" / "kernels" / "recorded"
EVERYTHING = """
common_file = { process_size = ["64KiB", "128KiB"]; block_size = ["4KiB", "16KiB"]; read_write = ["1:3", "1:0"];
    methods = ["individual", "individual-collective", "explicit", "explicit-collective", "posix"]; };
strided = { process_size = "96KiB"; block_size = "4KiB"; blocks_per_stride = 3; read_write = "1:2";
    methods = ["individual", "individual-collective"]; };
async = { process_size = ["64KiB", "1MiB"]; };
single_file = { process_size = "64KiB"; block_size = { from = "4KiB"; to = "16KiB"; factor = 2; }; read_write = "3:1"; };
raw = { process_size = "64KiB"; block_size = "4KiB"; };
"""  # noqa: E501


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Programs that ask much of their files, for the recorder."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("threads", "every_call"):
        compiled(folder / name, SOURCES / f"{name}.c", flags=["-D_FORTIFY_SOURCE=2", "-pthread"])
    return folder


@pytest.fixture(scope="session")
def recorder(openmpi):
    [library] = openmpi.bin.parent.glob("lib*/libpriomark_recorder.so")
    return library


def command(mpi, folder, workload, ranks, *options, env=None, directory=None):
    """`workload` is a text or a name; it runs in `folder`/disk if no other directory is given."""
    if "=" in workload:
        (folder / "workload.cfg").write_text(workload)
        workload = folder / "workload.cfg"
    (folder / "disk").mkdir(exist_ok=True)
    words = ("--workload", workload, "--directory", directory or folder / "disk", "--log", folder / "log.jsonl")
    return mpi.command(ranks, "priomark", *words, *options, env=env)


def run(mpi, folder, workload, ranks=1, *options, env=None):
    return kernel_runs.run(command(mpi, folder, workload, ranks, *options, env=env), env=mpi.environment)


def straced(mpi, folder, workload, ranks, *options):
    """What strace with these options sees of a run, which ends well: its lines."""
    strace = ["strace", "-f", "-qq", "-y", "-o", folder / "strace", *options]
    done = kernel_runs.run([*strace, *command(mpi, folder, workload, ranks)], env=mpi.environment)
    if "is not available" in done.stderr:
        pytest.skip(kernel_runs.error(done))
    kernel_runs.good(done)
    return (folder / "strace").read_text().splitlines()


def replay_of(recording, **keys):
    """A workload that replays a recording."""
    return f'trace = {{ recording = "{recording}"; {"".join(f"{key} = {value};" for key, value in keys.items())} }};\n'


def records(folder):
    return kernel_runs.records(folder / "log.jsonl")


def of_kind(folder, kind):
    return kernel_runs.of_kind(folder / "log.jsonl", kind)


def leftovers(folder):
    return sorted(path.name for path in (folder / "disk").iterdir())

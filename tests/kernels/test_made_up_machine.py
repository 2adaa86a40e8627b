# SPDX-License-Identifier: Apache-2.0
"""What kernels read about the machine is no fixed truth: file systems, control groups, /proc and /sys hold other values
elsewhere, and absurd ones on some machines. Whatever they hold, a run is right or refused with a clear sentence, and
the sanitizers are silent.

The kernels' own code reads what faults/machine.c makes up. Single values are tried with priomark without MPI, whose
runs take milliseconds, all four kernels with a few machines.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import kernel_runs
import pytest
from builds import SANITIZERS, Mpi, shared_library
from raw_log import read_log

MIB = 2**20
MOST = 2**63 - 1
WORKLOAD = 'single_file = { process_size = "64KiB"; block_size = "4KiB"; patterns = "write"; };'
PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
IN_V2 = {"proc/self/cgroup": "0::/job\n"}
IN_V1 = {"proc/self/cgroup": "5:cpu,memory:/job\n"}
LIMIT_V2, LIMIT_V1 = "sys/fs/cgroup/job/memory.max", "sys/fs/cgroup/memory/job/memory.limit_in_bytes"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return shared_library(tmp_path_factory.mktemp("machine"), "machine")


@dataclass(frozen=True)
class MadeUp:
    """A folder of made-up files, and kernels run with them."""

    folder: Path
    library: Path
    mpi: Mpi

    def write(self, files):
        """`files` is {name: content}; None for one that is missing."""
        for name, content in files.items():
            path = self.folder / "made-up" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.symlink_to("/nowhere")
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def run(self, kernel, *options, wrapper=()):
        """Two processes with MPI. The text of its errors, and its log, None where it was refused."""
        (self.folder / "disk").mkdir(exist_ok=True)
        log = self.folder / f"{kernel}.jsonl"
        settings = {"LD_PRELOAD": self.library, **SANITIZERS, "MADE_UP": self.folder / "made-up"}
        words = self.mpi.command(2, kernel, "--log", log, *options, env=settings)
        done = kernel_runs.run([*wrapper, *words], env=self.mpi.environment)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert not list((self.folder / "disk").iterdir())
        assert (done.returncode == 0) == log.exists() and done.returncode in (0, 2), done.stderr
        return done.stderr, read_log(log) if log.exists() else None


@pytest.fixture
def priomark(serial_sanitized, library, tmp_path):
    """`priomark(files)` runs it on a machine that is made up so."""
    made_up = MadeUp(tmp_path, library, serial_sanitized)
    (tmp_path / "workload.cfg").write_text(WORKLOAD)

    def run(files, wrapper=()):
        made_up.write(files)
        where = ["--workload", tmp_path / "workload.cfg", "--directory", tmp_path / "disk"]
        return made_up.run("priomark", *where, wrapper=wrapper)

    return run


def statfs(block=4096, fragment=4096, blocks=1000, available=900, first=1, second=1):
    return {"statfs": f"{block} {fragment} {blocks} {available} {first} {second}"}


@pytest.mark.parametrize(
    "files, total, free",
    [
        (statfs(first=-1, second=-1), 4096000, 3686400),
        (statfs(first=-(2**31), second=2**31 - 1), 4096000, 3686400),
        (statfs(first=0, second=-(2**31)), 4096000, 3686400),
        (statfs(first=0, second=0), 4096000, 3686400),
        (statfs(block=131072), 4096000, 3686400),  # FUSE: blocks are counted in fragments
        (statfs(block=131072, fragment=0), 131072000, 117964800),
        (statfs(blocks=2**63, available=2**63), MOST, MOST),
        (statfs(blocks=2**64 - 1, available=2**64 - 1), MOST, MOST),
        (statfs(blocks=2**51 - 1, available=2**51 - 1), MOST - 4095, MOST - 4095),
        (statfs(blocks=2**51, available=2**51), MOST, MOST),
        (statfs(block=2**62, fragment=2**62, blocks=3, available=1), MOST, 2**62),
        (statfs(fragment=2**63 - 1, blocks=2**63), MOST, MOST),
    ],
)
def test_size_of_a_file_system_is_counted_as_far_as_can_be(priomark, files, total, free):
    _, log = priomark(files)
    logged = log.run["filesystem"]
    block, fragment = map(int, files["statfs"].split()[:2])
    assert (logged["total_bytes"], logged["free_bytes"]) == (total, free)
    assert (logged["block_bytes"], logged["fragment_bytes"]) == (block, fragment or block)


@pytest.mark.parametrize(
    "files",
    [
        statfs(blocks=0, available=0),
        statfs(block=0, fragment=0),
        statfs(block=-4096, fragment=-4096),
        statfs(block=-1, fragment=0),
        statfs(available=2**64 - 5),
        statfs(available=1001),
        statfs(available=0),
    ],
)
def test_file_system_without_space_is_refused(priomark, files):
    error, log = priomark(files)
    assert log is None and "has 0 bytes free, the run needs 65536" in error


@pytest.mark.parametrize(
    "mounts, kind",
    [
        (None, "unknown"),
        ("", "unknown"),
        ("garbage\n\0\xff / \n", "unknown"),
        ("x /elsewhere ext4 rw 0 0\n", "unknown"),
        ("x / ext4 rw 0 0\nx / lustre rw 0 0\n", "lustre"),
        (b"x / \xff\xfe rw 0 0\n", "??"),
        ("x / " + 1100 * "y" + " rw 0 0\n", 1023 * "y"),
    ],
)
def test_type_of_a_file_system_is_that_of_its_mount(priomark, mounts, kind):
    _, log = priomark({"proc/self/mounts": mounts})
    assert log.run["filesystem"]["type"] == kind


def in_turn(values, ways):
    """Each value in one way, which take turns; in the others in `make prove` only."""
    return [
        pytest.param(*value, *way, marks=() if place % len(ways) == number else pytest.mark.prove)
        for place, value in enumerate(values)
        for number, way in enumerate(ways)
    ]


NO_LIMITS = ["max\n", "9223372036854771712\n", "9" * 40 + "\n", "0\n", "-1\n", "-" + "9" * 40, "12abc\n", "garbage\n"]
NO_LIMITS += ["", "\n", b"\xff\0\n", None]
LIMITS = [("67108864\n", 64 * MIB), ("67108864", 64 * MIB), ("1\n", 1), *((text, None) for text in NO_LIMITS)]


@pytest.mark.parametrize("text, limit, groups, file", in_turn(LIMITS, [(IN_V2, LIMIT_V2), (IN_V1, LIMIT_V1)]))
def test_limit_of_a_control_group_is_a_positive_number_or_none(priomark, text, limit, groups, file):
    _, log = priomark({**groups, file: text})
    assert log.run["hosts"][0]["memory_bytes"] == (limit or PHYSICAL)
    assert log.run["memory_source"] == ("cgroup" if limit else "physical")


NOWHERE = [None, "", "garbage\n", "::\n", ":\n0::\n", "0::/../..\n", "0::" + 5000 * "/x" + "\n", "5:memory:\n"]


@pytest.mark.parametrize("groups", [*NOWHERE, b"\xff:\xff:\xff\n"])
def test_control_groups_that_lead_nowhere_limit_nothing(priomark, groups):
    limits = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
    _, log = priomark({"proc/self/cgroup": groups, **dict.fromkeys(limits)})
    assert (log.run["hosts"][0]["memory_bytes"], log.run["memory_source"]) == (PHYSICAL, "physical")


@pytest.mark.parametrize("ancestor", ["sys/fs/cgroup/memory.max", "sys/fs/cgroup/a/memory.max"])
def test_limit_of_an_ancestor_holds(priomark, ancestor):
    _, log = priomark(
        {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "999999999\n", ancestor: "67108864\n"}
    )
    assert log.run["hosts"][0]["memory_bytes"] == 64 * MIB


@pytest.mark.parametrize("pages", [0, -1, -(2**63), 2**63 - 1])
def test_node_that_does_not_tell_its_memory_is_refused(priomark, pages):
    error, log = priomark({"pages": str(pages), "proc/self/cgroup": None})
    assert log is None and "a node has no memory for its processes: the system reports 0 bytes for each" in error


NOT_TOLD = ["0", "-5", "9223372036854775807", "9" * 40, "x"]


@pytest.mark.parametrize(
    "text, available",
    [
        ("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", 2 * MIB),
        *((f"MemAvailable: {number} kB\n", 0) for number in NOT_TOLD),
        *((text, 0) for text in ("garbage", "x" * 5000, "", None)),
    ],
)
def test_available_memory_is_what_the_system_says_if_that_can_be(priomark, text, available):
    _, log = priomark({"proc/meminfo": text})
    assert log.run["hosts"][0]["available_bytes"] == available


def ticks(user, nice=0, stolen=0):
    return f"cpu  {user} {nice} 1 1 1 1 1 {stolen} 0 0\n"


@pytest.mark.parametrize(
    "before, after, others, stolen",
    [
        (ticks(1000), ticks(1000), 0, 0),
        (ticks(1000, 5, 20), ticks(1050, 10, 45), 0.55, 0.25),
        (ticks(1000, 0, 7), ticks(10, 0, 3), 0, 0),  # counters that go back
        (ticks(2**63 - 1), ticks(2**63 - 1), 0, 0),
    ],
)
def test_time_of_others_is_the_difference_of_two_readings(priomark, before, after, others, stolen):
    _, log = priomark({"proc/stat.1": before, "proc/stat.2": after})
    [host] = log.records["activity"][0]["hosts"]
    assert others - 0.1 <= host["others_user_seconds"] <= others  # less what the run itself took
    assert host["stolen_seconds"] == pytest.approx(stolen)


NO_TICKS = [None, "", "cpu", "cpu  1 2 3\n", "cpu  nan inf 1 1 1 1 1 nan\n", "garbage\n", ticks("-x"), b"\xff\0"]


@pytest.mark.parametrize("text, reading", in_turn([(text,) for text in NO_TICKS], [(1,), (2,)]))
def test_processor_time_that_is_not_told_is_not_recorded(priomark, text, reading):
    _, log = priomark({"proc/stat.1": ticks(1), "proc/stat.2": ticks(1), f"proc/stat.{reading}": text})
    assert "activity" not in log.records


@pytest.mark.parametrize("after", [ticks(10**15), ticks(1, 10**15), ticks(1, 1, 10**15), ticks(2**63 - 1)])
def test_processor_time_that_no_machine_has_is_not_recorded(priomark, after):
    """Counters jump where a virtual machine is moved."""
    _, log = priomark({"proc/stat.1": ticks(1), "proc/stat.2": after})
    assert "activity" not in log.records


@pytest.mark.parametrize("cores, told", [(1, "0"), (1024, "0-1023"), (1025, "0-1024"), (8192, "0-8191")])
def test_machine_may_have_more_processors_than_a_cpu_set(priomark, cores, told):
    _, log = priomark({"cores": str(cores)})
    [host] = log.run["hosts"]
    assert (host["cores"], host["core_sets"]) == (cores, [told])
    assert log.run["mpi"]["binding_cores_max"] == cores


def test_cores_with_gaps_on_the_largest_machine_fit_into_a_log(priomark):
    """Pairs of cores with gaps between them are the longest text that a set of cores can be."""
    _, log = priomark({"cores": "8192", "every": "3"})
    [host] = log.run["hosts"]
    assert host["core_sets"] == [",".join(f"{core}-{core + 1}" for core in range(0, 8192, 3))]
    assert host["cores"] == 2 * 2731


@pytest.mark.parametrize("text", ["", "\n", "garbage\n", "-1\n", "0-\n", "0-99999999\n"])
def test_list_of_processors_that_is_garbage_leaves_a_positive_number(priomark, tmp_path, text):
    """What the C library makes of it: this file is replaced for the whole process, in a mount namespace."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    (tmp_path / "online").write_text(text)
    mount = f'mount --bind {tmp_path / "online"} /sys/devices/system/cpu/online || exit 77; exec "$@"'
    _, log = priomark({}, wrapper=("unshare", "--mount", "sh", "-c", mount, "sh"))
    assert 1 <= log.run["hosts"][0]["online_cores"] <= 8192


# All four kernels

SMALL = IN_V1 | {LIMIT_V1: "268435456\n"} | statfs(131072, 4096, 2**20, 2**20, -1, -2)
STRANGE = (
    IN_V2
    | statfs(blocks=2**64 - 1, available=2**64 - 1, first=-(2**31), second=-1)
    | {LIMIT_V2: "max\n", "proc/meminfo": "garbage", "proc/stat": None, "proc/self/mounts": None, "cores": "2000"}
)
KERNELS = {
    "b_eff": "--patterns ring,ping_pong --methods sendrecv,blocking --longest-loop 1 --repetitions 1",
    "b_eff_io": "--partitions 2 --scheduled-time 0.5 --space-limit 128MiB --directory disk",
    "ftio": "--input 4 --directory disk",
    "priomark": "--workload workload.cfg --directory disk",
}


@pytest.fixture(params=KERNELS)
def kernel(request, openmpi_sanitized, library, tmp_path, monkeypatch):
    """`kernel(files, *options)` runs each of the four."""
    monkeypatch.chdir(tmp_path)
    Path("workload.cfg").write_text(WORKLOAD)
    made_up = MadeUp(tmp_path, library, openmpi_sanitized)

    def run(files, *options):
        made_up.write(files)
        return made_up.run(request.param, KERNELS[request.param], *options)

    run.name = request.param
    return run


def test_every_kernel_runs_on_a_small_node(kernel):
    _, log = kernel(SMALL)
    assert log.run["hosts"][0]["memory_bytes"] == 256 * MIB and log.run["memory_per_process_bytes"] == 128 * MIB
    if kernel.name != "b_eff":
        assert log.run["filesystem"]["free_bytes"] == 2**32


def test_every_kernel_runs_on_a_strange_node(kernel):
    _, log = kernel(STRANGE, *(["--memory-per-process", "4MiB"] if kernel.name.startswith("b_eff") else []))
    [host] = log.run["hosts"]
    assert (host["memory_bytes"], host["available_bytes"], host["cores"]) == (PHYSICAL, 0, 2000)
    assert "activity" not in log.records
    if kernel.name != "b_eff":
        assert (log.run["filesystem"]["type"], log.run["filesystem"]["free_bytes"]) == ("unknown", MOST)


def test_every_kernel_refuses_a_node_without_memory(kernel):
    error, log = kernel(IN_V2 | {LIMIT_V2: "1\n"})
    assert log is None and "a node has no memory for its processes: the system reports 0 bytes for each" in error

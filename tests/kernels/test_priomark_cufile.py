# SPDX-License-Identifier: Apache-2.0
"""PRIOMark through cuFile (GPUDirect Storage), with stand-ins for it and for accelerators (faults/cufile.c,
faults/accelerator.c), whose memory faults if the kernel touches it: bytes arrive where they belong, errors are reported
with their remedy, and nothing stays registered."""

import pytest
from accelerators import stand_in
from builds import FAULTS, SANITIZERS, compiled
from kernel_runs import error, good
from priomark_runs import leftovers, records, run
from raw_log import read_log

PATTERNS = {"common_file": 3, "single_file": 4, "raw": 2, "strided": 2}
EVERYTHING = """
check = true;
common_file = { process_size = "32KiB"; block_size = "8KiB"; methods = "cufile"; };
single_file = { process_size = "16KiB"; block_size = "4KiB"; methods = "cufile"; };
raw = { process_size = "16KiB"; block_size = "4KiB"; methods = "cufile"; };
strided = { process_size = "24KiB"; block_size = "4KiB"; blocks_per_stride = 3; methods = "cufile"; };
"""
ONE = '\nsingle_file = { process_size = "16KiB"; block_size = "4KiB"; methods = "cufile"; };'


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A folder with both stand-ins."""
    folder = tmp_path_factory.mktemp("cufile")
    cuda = stand_in(folder, "openmpi", sources=[FAULTS / "accelerator.c"])
    flags = ["-g", "-shared", "-fPIC", "-Wl,-soname,libcufile.so.0", f"-Wl,-rpath,{folder}"]
    compiled(folder / "libcufile.so.0", FAULTS / "cufile.c", cuda, flags=flags)
    return folder


@pytest.fixture
def through_cufile(libraries, tmp_path):
    def through_cufile(mpi, workload=ONE, ranks=1, *options, **settings):
        variables = {name: str(value) for name, value in settings.items()}
        return run(mpi, tmp_path, workload, ranks, *options, env={"LD_LIBRARY_PATH": libraries} | variables)

    return through_cufile


def test_every_byte_arrives_in_all_sub_benchmarks_with_sanitizers(openmpi_sanitized, through_cufile, tmp_path):
    """Files that are read were written by POSIX calls; what cuFile wrote is read again and compared."""
    done = good(through_cufile(openmpi_sanitized, EVERYTHING, 2, **SANITIZERS))
    assert "stand-in" not in done.stderr and leftovers(tmp_path) == []
    log = read_log(tmp_path / "log.jsonl")
    cases = {(m["benchmark"], m["pattern"]) for m in log.records["measurement"]}
    assert {name: sum(benchmark == name for benchmark, _ in cases) for name in PATTERNS} == PATTERNS
    [entry] = log.plan["interfaces"]
    said = "libcufile.so.0, libcudart.so.13, device 0000:3b:00.0, nvidia-fs 2.24, compatibility mode allowed"
    assert entry["properties"] == said


def test_blocks_that_are_not_checked_differ_from_each_other(openmpi, through_cufile, tmp_path):
    """The number of each block is at its beginning, as with other methods."""
    workload = ONE.replace("methods", 'patterns = "write"; methods')
    good(through_cufile(openmpi, workload, 1, "--keep"))
    [file] = (path for path in (tmp_path / "disk").rglob("*") if path.is_file() and path.stat().st_size == 16384)
    data = file.read_bytes()
    assert [int.from_bytes(data[at : at + 8], "little") for at in range(0, 16384, 4096)] == [0, 1, 2, 3]
    assert len({data[at + 8 : at + 4096] for at in range(0, 16384, 4096)}) == 1 and any(data[8:4096])


@pytest.mark.parametrize(
    "failing, said",
    [
        ("HandleRegister", "cannot register '"),
        ("BufRegister", "cannot register a block for '"),
        ("Write", "cuFile: error 5030 of cuFile"),
        ("Read", "cannot read '"),
        ("Write:errno", "No space left on device"),
        ("Write:short", "could write only 2048 of 4096 bytes of '"),
        ("Read:short", "could read only 2048 of 4096 bytes of '"),
        ("BufDeregister", "cannot release the block of '"),
    ],
)
def test_failure_of_each_call_ends_the_run_with_its_reason(openmpi, through_cufile, tmp_path, failing, said):
    done = through_cufile(openmpi.impatient, STANDIN_CUFILE=failing)
    assert done.returncode == 1 and said in error(done) and leftovers(tmp_path) == []
    assert ":" in failing or "error 5030 of cuFile, 0 of CUDA; run 'gdscheck -p' on this node" in error(done)
    assert records(tmp_path)[-1]["status"] == "failed"


def test_byte_that_changed_on_its_way_is_detected(openmpi, through_cufile):
    done = through_cufile(openmpi.impatient, "check = true;" + ONE, STANDIN_CUFILE="Write:flip")
    assert done.returncode == 1 and "1 of 4096 bytes of '" in error(done) and "were read wrong" in error(done)


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"STANDIN_CUFILE": "DriverOpen"}, "cuFileDriverOpen: error 5030 of cuFile, 0 of CUDA"),
        ({"STANDIN_DEVICES": 0}, "cudaGetDeviceCount: no CUDA-capable device is detected (error 100)"),
        ({"LD_LIBRARY_PATH": ""}, "the runtime library libcufile.so.0 is not on this node"),
        ({"STANDIN_DEVICES": 2, "STANDIN_UNSUPPORTED": 1}, "cuFileDriverOpen: error 5009 of cuFile"),
    ],
)
def test_node_that_lacks_what_cufile_requires_is_refused(openmpi, through_cufile, tmp_path, settings, said):
    """The second process has the second device."""
    done = through_cufile(openmpi.impatient, ranks=2, **settings)
    assert done.returncode == 2 and leftovers(tmp_path) == [] and "workload.cfg:2: methods: " in error(done)
    assert said in error(done) and "run 'gdscheck -p' on the node, or remove the method cufile" in error(done)


def test_processes_that_share_the_only_device_measure(openmpi, through_cufile):
    good(through_cufile(openmpi, ranks=2, STANDIN_UNSUPPORTED=1))

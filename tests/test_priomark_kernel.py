# SPDX-License-Identifier: Apache-2.0
"""The kernel of PRIOMark as a process: that it asks of its files what the workload says, as strace sees it; that data
at the wrong place is found; its three builds; and how it ends when it cannot go on."""

import itertools
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import NOT_COMPLETE, PATIENCE, install_kernels
from file_systems import memory, vanish
from priomark_runs import KIB, MIB, command, environment, error, leftovers, of_kind, records, run
from raw_log import read_log
from system_calls import traced

from postprocess.benchmarks.scoring import score_log

FAULTS = Path(__file__).parent / "faults" / "priomark.c"
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
def mpi(request):
    """Open MPI with the component that is asked for, or MPICH."""
    name = getattr(request, "param", "openmpi")
    return request.getfixturevalue(name.removesuffix("-romio")), {"OMPI_MCA_io": "romio321"} if "romio" in name else {}


RUNS = [("openmpi", 1), ("openmpi", 2), ("openmpi", 4), ("openmpi-romio", 2), ("mpich", 2)]


@pytest.fixture(scope="session")
def serial():
    """A build without MPI, made where there is none: its compilers, headers and libraries are hidden while it is
    built."""
    if os.geteuid() != 0:
        return install_kernels("tests-serial", "-DCOFFEECUP_MPI=OFF")
    hide = (
        "for place in /usr/lib/*/openmpi /usr/lib/*/mpich /usr/include/*/mpi* /usr/include/*/openmpi; do "
        "[ ! -d $place ] || mount -t tmpfs tmpfs $place; done; "
        'for tool in $(compgen -c mpi); do [ ! -e /usr/bin/$tool ] || mount --bind /dev/null /usr/bin/$tool; done; "$@"'
    )
    return install_kernels(
        "tests-serial", "-DCOFFEECUP_MPI=OFF", around=("unshare", "--mount", "bash", "-c", hide, "bash")
    )


@pytest.fixture(scope="session")
def faults(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "priomark.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, FAULTS, "-ldl"], check=True)
    return library


def calls_of(case, ranks):
    """(reads, writes) of all processes, by the definition of the patterns."""
    requests = case["process_bytes"] // case["block_bytes"]
    reads = {"write": 0, "read": requests, "backwards-read": requests}.get(case["pattern"])
    reads = round(requests * case["read_share"]) if reads is None else reads
    return ranks * reads, ranks * (requests - reads)


# --- counts, offsets and shares ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi, ranks", RUNS, indirect=["mpi"])
def test_every_sub_benchmark_pattern_and_method_moves_what_the_workload_says(mpi, tmp_path, ranks):
    done = run(mpi, tmp_path, "check = true; repetitions = 2;" + EVERYTHING, ranks)
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    cases = {case["case"]: case for case in log.plan["cases"]}
    # by hand, from the lists above: sizes, blocks, patterns with the shares that matter to them, methods
    assert len(cases) == 2 * 2 * (1 + 2 + 2) * 5 + (1 + 1) * 2 + 2 * 2 * 3 + 3 * (1 + 1 + 1 + 1) + 2
    assert [(m["case"], m["repetition"]) for m in log.records["measurement"]] == [
        (case, k) for case in cases for k in (1, 2)
    ]
    for measured in log.records["measurement"]:
        case = cases[measured["case"]]
        reads, writes = calls_of(case, ranks)
        assert measured.items() >= case.items()
        assert (measured["read_calls"], measured["write_calls"]) == (reads, writes)
        assert (
            measured["read_bytes"] == reads * case["block_bytes"]
            and measured["written_bytes"] == writes * case["block_bytes"]
        )
        assert {entry["operation"]: entry["calls"] for entry in measured["latencies"]} == {
            name: calls for name, calls in (("read", reads), ("write", writes)) if calls
        }
        assert bool(measured["values"]) == (case["benchmark"] == "async")
    [check] = log.records["data_check"]
    assert check["read_bytes"] == check["checked_bytes"] == sum(m["read_bytes"] for m in log.records["measurement"])
    assert leftovers(tmp_path) == [] and score_log(log.path).metrics["total"].value > 0


def requests_of(found, name):
    """Of each process: a list per opening of the file for reading and writing, of (operation, offset, bytes), and
    whether it was direct; the filling of a file, which opens it for writing only, is left out."""
    processes = []
    for thread in found:
        openings = []
        for call, path, *values in thread:
            if name not in path:
                continue
            if call == "open":
                openings.append(([], "O_DIRECT" in values[0]) if "O_RDWR" in values[0] else None)
            elif (
                call.removeprefix("p") in ("read", "write", "readv", "writev") and openings and openings[-1] is not None
            ):
                offset, _, moved = values
                openings[-1][0].append((call.strip("pv"), offset, moved))
        processes.append([opening for opening in openings if opening and opening[0]])
    return [openings for openings in processes if openings]


def place(benchmark, rank, ranks, block):
    """Where in the file a process's block belongs, in blocks."""
    if benchmark == "common_file":
        return rank * BLOCKS + block
    if benchmark == "strided":
        return (block // PER_STRIDE * ranks + rank) * PER_STRIDE + block % PER_STRIDE
    return block


BLOCKS, PER_STRIDE = 24, 3
FILES = {"common_file": "common", "strided": "strided", "single_file": "single-", "raw": "raw-"}
WATCHED = "".join(
    f'{name} = {{ process_size = "{4 * BLOCKS}KiB"; block_size = "4KiB"; read_write = "1:3"; {keys} }};\n'
    for name, keys in (
        ("common_file", 'methods = ["individual", "explicit", "posix", "posix-direct"];'),
        ("strided", f'methods = "individual"; blocks_per_stride = {PER_STRIDE};'),
        ("single_file", 'methods = ["posix", "posix-direct"];'),
        ("raw", ""),
    )
)


@pytest.mark.parametrize("mpi, ranks", RUNS, indirect=["mpi"])
def test_system_calls_are_those_of_the_definition(mpi, tmp_path, ranks):
    done, found = traced(command(mpi, tmp_path, WATCHED, ranks), tmp_path, tmp_path / "calls", env=environment(mpi))
    assert done.returncode == 0, done.stderr
    planned = read_log(tmp_path / "log.jsonl").plan["cases"]
    assert len(planned) == 3 * 4 + 2 + 4 * 2 + 2  # by hand: patterns times methods
    for benchmark, name in FILES.items():
        cases = [case for case in planned if case["benchmark"] == benchmark]
        processes = requests_of(found, name)
        assert [len(openings) for openings in processes] == [len(cases)] * ranks
        for case, openings in zip(cases, zip(*processes)):
            assert all(direct == (case["method"] in ("posix-direct", "device")) for _, direct in openings)
            assert_defined(case, [requests for requests, _ in openings], ranks)


def assert_defined(case, processes, ranks):
    """Each process accesses each of its blocks once, in the pattern's order and with its share of reads; all draw the
    same operations."""
    pattern = case["pattern"]
    blocks = [
        sorted(4 * KIB * place(case["benchmark"], rank, ranks, block) for block in range(BLOCKS))
        for rank in range(ranks)
    ]
    assert sorted(sorted(offset for _, offset, _ in requests) for requests in processes) == sorted(blocks)
    for requests in processes:
        offsets = [offset for _, offset, _ in requests]
        assert {moved for *_, moved in requests} == {4 * KIB}
        assert (offsets == sorted(offsets)) == (pattern in ("write", "read-write"))
        assert (offsets == sorted(offsets, reverse=True)) == (pattern == "backwards-read")
        assert [operation for operation, *_ in requests].count("read") == {"write": 0, "backwards-read": BLOCKS}.get(
            pattern, BLOCKS // 4
        )
    assert len({tuple(operation for operation, *_ in requests) for requests in processes}) == 1


RANDOM = 'single_file = { process_size = "256KiB"; block_size = "4KiB"; read_write = "1:1"; patterns = "random-read-write"; };'  # noqa: E501


def order_of(serial, folder, seed):
    folder.mkdir()
    done, found = traced(
        command(serial, folder, f"seed = {seed}; repetitions = 2; {RANDOM}", 1), folder, folder / "calls"
    )
    assert done.returncode == 0
    return [requests for requests, _ in requests_of(found, "single-")[0]]


def test_seed_gives_the_same_order_again_and_another_seed_another(serial, tmp_path):
    first, second = order_of(serial, tmp_path / "first", 7)
    assert (first, second) == tuple(order_of(serial, tmp_path / "again", 7))
    other, _ = order_of(serial, tmp_path / "other", 8)
    assert first != second and first != other and sorted(o for _, o, _ in first) == sorted(o for _, o, _ in other)
    assert of_kind(tmp_path / "other", "plan")[0]["seed"] == 8


@pytest.mark.parametrize("evict", ["true", "false"])
def test_files_leave_the_page_cache_where_the_workload_says_so(serial, tmp_path, evict):
    workload = f'evict = {evict}; single_file = {{ process_size = "64KiB"; block_size = "4KiB"; }};'
    done = subprocess.run(
        [
            "strace",
            "-qq",
            "-e",
            "trace=fadvise64",
            "-y",
            "-o",
            tmp_path / "calls",
            *command(serial, tmp_path, workload, 1),
        ],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    advised = [
        line
        for line in (tmp_path / "calls").read_text().splitlines()
        if "POSIX_FADV_DONTNEED" in line and "/single-" in line
    ]
    assert len(advised) == (3 if evict == "true" else 0)  # each pattern but `write`, which creates
    found = {m["pattern"]: m["evicted"] for m in of_kind(tmp_path, "measurement")}
    assert found == {pattern: evict == "true" and pattern != "write" for pattern in found}


def test_latencies_are_counted_in_bins_of_the_stated_width(serial, tmp_path):
    assert run(serial, tmp_path, EVERYTHING[EVERYTHING.index("async") :]).returncode == 0
    log = read_log(tmp_path / "log.jsonl")
    for entry in (entry for m in log.records["measurement"] for entry in m["latencies"]):
        bins = list(zip(entry["from_seconds"], entry["to_seconds"], entry["bin_calls"], strict=True))
        assert sum(calls for *_, calls in bins) == entry["calls"]
        assert all((to - start) / (to + start) <= 1.0001 * log.plan["latency_relative_error"] for start, to, _ in bins)
        assert all(before[1] <= after[0] * 1.0001 for before, after in itertools.pairwise(bins))
        least, most = (sum(place[end] * place[2] for place in bins) for end in (0, 1))
        assert least <= entry["sum_seconds"] <= most
        assert (
            bins[0][0] <= entry["shortest_seconds"] <= bins[0][1]
            and bins[-1][0] <= entry["longest_seconds"] <= bins[-1][1]
        )


# --- builds -----------------------------------------------------------------------------------------------------------


def needed(program):
    return subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout


def test_serial_build_runs_without_mpi_and_offers_what_needs_none(serial, tmp_path):
    assert "mpi" not in needed(serial / "bin" / "priomark")
    done = run(serial, tmp_path, EVERYTHING, 1, "--only", "common_file")
    assert (
        done.returncode == 2
        and "'common_file' requires a build with MPI" in error(done)
        and "workload.cfg:2:" in error(done)
    )
    done = run(serial, tmp_path, "check = true;" + EVERYTHING)
    assert done.returncode == 0, done.stderr
    assert "workload.cfg:2: 'common_file' requires a build with MPI and is left out" in done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["build"] == "serial" and log.run["ranks"] == 1 and "without MPI" in log.run["mpi"]["library"]
    assert {m["benchmark"] for m in log.records["measurement"]} == {"async", "single_file", "raw"}


def test_serial_build_runs_the_default_workload_and_the_score_says_what_is_missing(serial, tmp_path):
    done = run(serial, tmp_path, "default")
    assert done.returncode == 0, done.stderr
    score = score_log(tmp_path / "log.jsonl")
    assert not score.official
    [breach] = score.breaches
    assert breach.key == "left_out" and "common_file and strided did not run" in breach.text


def test_build_without_mpi_io_measures_with_posix_calls(openmpi, tmp_path):
    compiler = shutil.which("mpicc.openmpi") or "mpicc"
    folder = install_kernels(
        "tests-openmpi-without-mpi-io",
        f"-DCMAKE_C_COMPILER={compiler}",
        "-DCOFFEECUP_MPI_IO=OFF",
        "-DCOFFEECUP_BENCHMARKS=priomark",
    )
    symbols = subprocess.run(
        ["nm", "-D", folder / "bin" / "priomark"], capture_output=True, text=True, check=True
    ).stdout
    assert "MPI_Allreduce" in symbols and "MPI_File" not in symbols
    mine = (replace(openmpi, bin=folder / "bin"), {})
    done = run(mine, tmp_path, EVERYTHING, 2)
    assert done.returncode == 2 and "'individual' is not known; valid in this build are posix, posix-direct" in error(
        done
    )
    done = run(mine, tmp_path, "strided = { };", 2)
    assert (
        done.returncode == 2
        and "no sub-benchmark" in error(done)
        and "'strided' requires a build with MPI-IO" in done.stderr
    )
    done = run(
        mine,
        tmp_path,
        'check = true; common_file = { process_size = "64KiB"; }; async = { }; single_file = { process_size = "64KiB"; '
        "};",
        2,
    )
    assert done.returncode == 0, done.stderr
    assert read_log(tmp_path / "log.jsonl").plan["build"] == "mpi"


@pytest.mark.parametrize(
    "name", ["default", "figure_3", "figure_5", "figure_6", "oltp", "webserver", "checkpoint", "analysis"]
)
def test_workload_that_comes_with_it_is_found_by_name(openmpi, tmp_path, name):
    done = run((openmpi, {}), tmp_path, name, 2, "--dry-run")
    assert done.returncode == 0 and f"/{name}.cfg'" in done.stdout
    assert not (tmp_path / "log.jsonl").exists() and leftovers(tmp_path) == []


def test_paper_s_parameters_are_those_of_its_figures(openmpi, tmp_path):
    for name, benchmark, line in (
        ("figure_3", "common_file", ("32 MiB", "16 KiB", "50.0 %")),
        ("figure_3", "async", ("8 MiB", "8192 KiB")),
        ("figure_5", "single_file", ("256 MiB", "32 KiB")),
        ("oltp", "random-read-write", ("8 KiB", "33.3 %")),
    ):
        done = run((openmpi, {}), tmp_path, name, 2, "--dry-run")
        rows = [row for row in done.stdout.splitlines() if benchmark in row]
        assert any(all(word in row for word in line) for row in rows), done.stdout


# --- faults in what is read and written -------------------------------------------------------------------------------


CHECKED = 'check = true; single_file = { process_size = "64KiB"; block_size = "4KiB"; read_write = "1:1"; };'


@pytest.mark.parametrize(
    "kind, number",
    [
        ("flip_read", 3),
        ("flip_write", 5),
        ("lost_write", 5),
        ("misplaced_write", 5),
        ("flip_read", 16 + 3),
        ("flip_write", 16 + 1 + 3),
        ("lost_write", 16 + 1 + 3),
    ],
)
def test_byte_that_is_not_where_it_was_written_is_found(serial, faults, tmp_path, kind, number):
    done = run(serial, tmp_path, CHECKED, env={"LD_PRELOAD": faults, "FAULT_KIND": kind, "FAULT_NUMBER": number})
    assert done.returncode == 1
    assert "were read wrong, the first at offset" in error(done)
    assert records(tmp_path)[-1]["status"] == "failed" and leftovers(tmp_path) == []


@pytest.mark.parametrize("kind", ["short", "interrupted"])
def test_short_and_interrupted_calls_are_continued(serial, faults, tmp_path, kind):
    done = run(serial, tmp_path, CHECKED, env={"LD_PRELOAD": faults, "FAULT_KIND": kind})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("reading", [1, 2, 3])
def test_no_part_is_longer_than_the_whole_wherever_a_process_loses_its_core(serial, faults, tmp_path, reading):
    """The first reading of the clock after the sync ends it, the second one ends the whole, the third one belongs to
    neither."""
    done = run(
        serial,
        tmp_path,
        'single_file = { process_size = "32KiB"; block_size = "4KiB"; patterns = "write"; methods = "posix"; };',
        env={"LD_PRELOAD": faults, "FAULT_LATE": reading},
    )
    assert done.returncode == 0, done.stderr
    [measured] = of_kind(tmp_path, "measurement")
    late = [measured[f"{part}_seconds"] > 0.9 for part in ("sync", "elapsed")]
    assert late == [reading <= 1, reading <= 2]
    assert score_log(tmp_path / "log.jsonl").metrics["total"].value > 0


@pytest.mark.parametrize(
    "kind, said", [("full_write", "No space left on device; free some space"), ("broken_read", "Input/output error")]
)
def test_failing_call_ends_the_run_with_one_line_and_nothing_left(openmpi, faults, tmp_path, kind, said):
    workload = 'common_file = { process_size = "64KiB"; block_size = "4KiB"; methods = "posix"; };'
    done = run((openmpi, {}), tmp_path, workload, 2, env={"LD_PRELOAD": faults, "FAULT_KIND": kind, "FAULT_NUMBER": 7})
    assert done.returncode == 1
    assert any(said in line for line in done.stderr.splitlines() if "error:" in line), done.stderr
    assert records(tmp_path)[-1]["status"] == "failed" and leftovers(tmp_path) == []


# --- how it ends when it cannot go on ---------------------------------------------------------------------------------

LONG = (
    'repetitions = 100000; common_file = { process_size = "1MiB"; block_size = "64KiB"; patterns = ["read-write"]; '
    'methods = ["explicit", "posix"]; };'
)


@pytest.fixture
def started(mpi, tmp_path):
    """A run that goes on until something ends it."""
    processes = []

    def start(workload=LONG, directory=None):
        words = command(mpi, tmp_path, workload, 2)
        if directory:
            words[words.index("--directory") + 1] = str(directory)
        process = subprocess.Popen(
            words, env=environment(mpi), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        deadline = time.monotonic() + PATIENCE
        log = tmp_path / "log.jsonl"
        while not log.exists() or log.read_bytes().count(b"\n") < 8:
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.02)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def wait_until_clean(folder):
    """What is killed cannot clean up; the keeper beside it does, a moment later."""
    deadline = time.monotonic() + PATIENCE
    while (leftovers(folder) or records(folder)[-1]["record"] != "end") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert leftovers(folder) == []
    return records(folder)[-1]


def test_interrupted_run_closes_its_log_and_leaves_nothing(started, tmp_path):
    process = started()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert wait_until_clean(tmp_path)["status"] in NOT_COMPLETE


def test_killed_process_takes_the_run_and_its_files_along(started, tmp_path):
    process = started()
    found = subprocess.run(
        ["pgrep", "-f", f"^[^ ]*/priomark .*{tmp_path}/log.jsonl"], capture_output=True, text=True, check=True
    )
    os.kill(max(map(int, found.stdout.split())), signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert wait_until_clean(tmp_path)["status"] in NOT_COMPLETE


def test_removed_directory_ends_the_run_with_a_clear_line(started, tmp_path):
    process = started()
    vanish(tmp_path / "disk")
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "error:" in stderr
    assert records(tmp_path)[-1]["status"] in NOT_COMPLETE


def test_disk_that_fills_up_ends_the_run_with_a_clear_line(started, tmp_path):
    workload = (
        'repetitions = 100000; single_file = { process_size = "2MiB"; block_size = "64KiB"; patterns = ["write"]; };'
    )
    with memory(tmp_path / "small", "size=8m") as small:
        process = started(workload, small)
        with (small / "of others").open("wb", buffering=0) as others:
            while process.poll() is None:
                try:
                    others.write(bytes(MIB // 4))
                except OSError:
                    time.sleep(0.01)
        _, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1 and "No space left on device; free some space" in stderr
        assert records(tmp_path)[-1]["status"] in NOT_COMPLETE
        assert [path.name for path in small.iterdir()] == ["of others"]


def test_too_small_disk_is_refused_before_anything_is_made(mpi, tmp_path):
    (tmp_path / "disk").mkdir()
    with memory(tmp_path / "disk", "size=8m"):
        done = run(mpi, tmp_path, 'single_file = { process_size = "8MiB"; };', 2)
        assert done.returncode == 2 and "8388608 bytes free" in error(done) and "process_size" in error(done)
        assert leftovers(tmp_path) == [] and not (tmp_path / "log.jsonl").exists()


def test_kept_files_are_those_of_the_last_cases(openmpi, tmp_path):
    done = run((openmpi, {}), tmp_path, EVERYTHING, 2, "--keep")
    assert done.returncode == 0, done.stderr
    [kept] = (tmp_path / "disk").iterdir()
    sizes = {path.name: path.stat().st_size for path in kept.iterdir() if not path.name.startswith(".")}
    assert sizes == {
        "common": 256 * KIB,
        "strided": 192 * KIB,
        "async": 2 * MIB,
        "single-000000": 64 * KIB,
        "single-000001": 64 * KIB,
        "raw-000000": 64 * KIB,
        "raw-000001": 64 * KIB,
    }

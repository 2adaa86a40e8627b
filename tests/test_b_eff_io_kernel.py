# SPDX-License-Identifier: Apache-2.0
"""The b_eff_io kernel as a process, under Open MPI with both of its MPI-I/O components and under MPICH: what lies where
in its files, how it keeps its time, and how it ends when it cannot go on.

Some runs go to a file system that is a formula (faults/b_eff_io.c): the values have to be those of the formula.
"""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from b_eff_io_files import files_by_definition
from conftest import NOT_COMPLETE, OPEN_MPI, PATIENCE, compiler_and_launcher
from file_systems import memory, vanish
from raw_log import read_log

from postprocess.benchmarks.b_eff_io.rules import TYPES, patterns_rule
from postprocess.benchmarks.registry import log_formats
from postprocess.benchmarks.scoring import score_log
from postprocess.logs.growing import GrowingLog
from postprocess.logs.reader import LogError

FAULTS = Path(__file__).parent / "faults" / "b_eff_io.c"
KIB, MIB = 2**10, 2**20
SMALL = ("--memory-per-process", "64MiB")  # M_PART is 2 MiB
BRIEF = (*SMALL, "--scheduled-time", "0.4", "--space-limit", "4GiB")
ALL_TYPES = ",".join([*TYPES, "random", "random-collective"])


@pytest.fixture(scope="session", params=["openmpi", "openmpi-romio", "mpich"])
def mpi(request):
    return request.getfixturevalue(request.param.removesuffix("-romio")), {
        "OMPI_MCA_io": "romio321"
    } if "romio" in request.param else {}


@pytest.fixture(scope="session")
def faults(tmp_path_factory):
    """The library of faults/b_eff_io.c, built for an MPI at its first use."""
    built = {}

    def build(name):
        if name not in built:
            built[name] = tmp_path_factory.mktemp(f"faults-{name}") / "b_eff_io.so"
            subprocess.run(
                [
                    compiler_and_launcher(name)[0],
                    "-shared",
                    "-fPIC",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-o",
                    built[name],
                    FAULTS,
                ],
                check=True,
            )
        return built[name]

    return build


def command(mpi, folder, ranks, *options, env=None):
    """`env` reaches the kernel and not the launcher."""
    settings = [f"{name}={value}" for name, value in (env or {}).items()]
    return [
        mpi[0].mpirun,
        "-np",
        str(ranks),
        "env",
        *settings,
        str(mpi[0].bin / "b_eff_io"),
        "--directory",
        str(folder),
        "--log",
        str(folder / "log.jsonl"),
        *map(str, options),
    ]


def run(mpi, folder, ranks, *options, env=None):
    return subprocess.run(
        command(mpi, folder, ranks, *options, env=env),
        env=os.environ | OPEN_MPI | mpi[1],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def records(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def end(folder):
    last = records(folder)[-1]
    assert last["record"] == "end" and last["records"] == len(records(folder))
    return last


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name not in ("log.jsonl", "filler")]


def assert_failed(done, folder, *words, rank=None, scratch=None):
    """A clear error, a closed log, no score and no leftovers."""
    assert done.returncode == 1, done.stderr
    assert "error: " in done.stderr
    for word in words:
        assert word in end(folder)["reason"], end(folder)["reason"]
    assert end(folder)["status"] == "failed"
    assert end(folder)["host"] == socket.gethostname()
    if rank is not None:
        assert end(folder)["rank"] == rank and f"error: rank {rank}: " in done.stderr
    with pytest.raises(LogError, match="failed"):
        read_log(folder / "log.jsonl")
    assert not leftovers(scratch or folder)


@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [*(("openmpi", ranks) for ranks in (1, 2, 3, 5)), ("openmpi-romio", 3), ("mpich", 3)],
    indirect=["mpi"],
)
def test_every_byte_lies_where_the_definition_says(mpi, tmp_path, ranks):
    done = run(mpi, tmp_path, ranks, *BRIEF, "--keep", "--partitions", ranks, "--alignment", "3MiB")
    assert done.returncode == 0, done.stderr
    [scratch] = [path for path in tmp_path.iterdir() if path.is_dir()]
    expected = dict(files_by_definition(records(tmp_path), 0, scratch))
    assert {path.name for path in scratch.iterdir() if not path.name.startswith(".")} == set(expected)
    for name, data in expected.items():
        found = np.fromfile(scratch / name, dtype=np.uint8)
        assert found.size == data.size, name
        assert (found == data).all(), (name, int((found != data).argmax()))


@pytest.mark.parametrize(
    ("mpi", "ranks"), [("openmpi", 1), ("openmpi", 3), ("openmpi-romio", 3), ("mpich", 3)], indirect=["mpi"]
)
def test_all_types_pass_the_complete_check(mpi, tmp_path, ranks):
    done = run(mpi, tmp_path, ranks, *BRIEF, "--check-all", "--types", ALL_TYPES)
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    [check] = log.records["data_check"]
    assert check["read_bytes"] == check["checked_bytes"] > 0
    assert check["read_bytes"] == sum(r["bytes"] for r in log.records["measurement"] if r["method"] == "read")
    assert not leftovers(tmp_path) and score_log(tmp_path / "log.jsonl").metrics["b_eff_io"].value > 0


def test_calls_and_sizes_follow_the_table(mpi, tmp_path):
    """Patterns end with their share of the space, long before their time."""
    run(mpi, tmp_path, 2, *SMALL, "--scheduled-time", 600, "--space-limit", "600MiB")
    log = read_log(tmp_path / "log.jsonl")
    table = patterns_rule(2 * MIB)
    for r in log.records["measurement"]:
        name, chunk, call, _units = table[r["pattern"]]
        assert r["type"] == name and r["bytes"] == r["calls_sum"] * r["call_bytes"]
        assert r["calls_min"] == r["calls_max"] == r["calls_sum"] / r["partition"]
        assert chunk is None or (r["chunk_bytes"], r["call_bytes"]) == (chunk, call)
    written = {
        (r["partition"], r["pattern"]): r["calls_min"] for r in log.records["measurement"] if r["method"] == "write"
    }
    for partition in log.plan["partitions"]:
        counts = [written.get((partition, number), 0) for number in range(43)]
        for first in (25, 34):
            assert counts[first] == 1
            # chunks of types 0 (release 2.1 leaves out pattern 2), 1 (tenfold) and 2
            for place, (scatter, chunks) in enumerate(
                ((1, 1), (3, 1), (4, 32), (5, 1024), (6, 32), (7, 1024), (8, 1)), 1
            ):
                assert counts[first + place] == min(
                    counts[scatter] * chunks, 10 * counts[9 + place], counts[17 + place]
                )
    for r in log.records["pattern_type"]:
        if r["type"].startswith("segmented"):
            assert r["segment_bytes"] % MIB == 0 and r["file_bytes"] == r["segment_bytes"] * r["partition"]


def is_agreed(r):
    """Collective and driven by time: elsewhere a process's own clock or count decides."""
    return r["type"] in ("scatter", "shared") and r["scheduled_seconds"] > 0


def test_processes_agree_only_in_collective_patterns_that_are_driven_by_time(plain_mpi, tmp_path):
    run(plain_mpi, tmp_path, 2, *BRIEF, "--types", ALL_TYPES)
    for r in read_log(tmp_path / "log.jsonl").records["measurement"]:
        assert (r["agreements"] > 0) == is_agreed(r) and (r["agreement_seconds"] > 0) == is_agreed(r)


def test_individual_pointers_lay_out_the_same_file(mpi, tmp_path):
    done = run(mpi, tmp_path, 3, *BRIEF, "--keep", "--partitions", 3, "--individual-pointers")
    assert done.returncode == 0, done.stderr
    [scratch] = [path for path in tmp_path.iterdir() if path.is_dir()]
    expected = dict(files_by_definition(records(tmp_path), 0, scratch))["n3-type1"]
    assert (np.fromfile(scratch / "n3-type1", dtype=np.uint8) == expected).all()
    assert "individual_pointers" in [q.key for q in score_log(tmp_path / "log.jsonl").qualifications]


# Known truth: a file system that is a formula


def model(faults, mpi, **settings):
    return {"LD_PRELOAD": faults(mpi[0].name), **{name: str(value) for name, value in settings.items()}}


@pytest.fixture
def plain_mpi(openmpi):
    return openmpi, {}


def test_official_run_on_a_file_system_that_is_a_formula(plain_mpi, tmp_path, faults):
    """Each process moves 1 MByte/s, a sync 4 MByte/s: two processes write 1.6 and read 2 MByte/s, b_eff_io = 0.5 * 1.6
    + 0.5 * 2."""
    done = run(
        plain_mpi,
        tmp_path,
        2,
        "--largest-chunk",
        "2MiB",
        "--partitions",
        2,
        env=model(faults, plain_mpi, MODEL_BANDWIDTH=1e6, MODEL_SYNC_BANDWIDTH=4e6),
    )
    assert done.returncode == 0, done.stderr
    log, score = read_log(tmp_path / "log.jsonl"), score_records(tmp_path)
    assert score["write"] == pytest.approx(1.6, rel=1e-3) and score["read"] == pytest.approx(2, rel=1e-3)
    assert score["b_eff_io"] == pytest.approx(1.8, rel=1e-3) and score["b_eff_io_0_5"] == pytest.approx(
        1.6 * 2 / 3 + 2 / 3, rel=1e-3
    )
    for r in log.records["measurement"]:
        if r["method"] == "write" and r["scheduled_seconds"] and r["type"] in TYPES[:3]:
            one_call = r["call_bytes"] * (1 / 1e6 + 1 / 4e6)
            first = r["pattern"] == 1  # nothing is known yet about how long a sync takes
            assert (
                abs(r["elapsed_seconds"] - r["scheduled_seconds"]) <= max(0.05 * r["scheduled_seconds"], one_call)
                or first
            )
    assert (
        0.95 * 300
        <= sum(r["elapsed_seconds"] for r in log.records["pattern_type"] if r["method"] == "write")
        <= 1.05 * 300
    )


def test_each_process_of_type_separate_stops_by_its_own_clock(plain_mpi, tmp_path, faults):
    """Rank 1 takes twice as long for each call: half as many fit into a pattern's time, T / 3 * U / 64 = U seconds. Its
    count is the minimum, which sizes the segments; in rewrite each process repeats its own."""
    done = run(
        plain_mpi,
        tmp_path,
        2,
        *SMALL,
        "--scheduled-time",
        192,
        "--partitions",
        2,
        env=model(faults, plain_mpi, MODEL_BANDWIDTH=1e6, MODEL_SLOW_RANK=1),
    )
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    table = {(r["method"], r["pattern"]): r for r in log.records["measurement"]}
    for number, units in ((20, 1), (21, 1), (22, 1), (23, 1)):
        written = table["write", number]
        assert written["calls_max"] == pytest.approx(units * 1e6 / written["call_bytes"], abs=1)
        assert written["calls_min"] == pytest.approx(units * 0.5e6 / written["call_bytes"], abs=1)
        assert written["calls_sum"] == written["calls_min"] + written["calls_max"]
        slowest = max(written["calls_max"], 2 * written["calls_min"]) * written["call_bytes"] / 1e6
        assert written["elapsed_seconds"] == pytest.approx(slowest) and written["ended_by"] == "time"
        again = table["rewrite", number]
        assert all(again[name] == written[name] for name in ("calls_min", "calls_max", "calls_sum"))
        assert (
            table["write", number + 8]["calls_min"] == table["write", number + 8]["calls_max"] == written["calls_min"]
        )


def test_types_3_and_4_leave_out_calls_before_a_run_takes_more_than_twice_its_time(plain_mpi, tmp_path, faults):
    """Type 4 takes a hundred times as long as its counts suppose: its first weighted pattern uses up the time of its
    method."""
    done = run(
        plain_mpi,
        tmp_path,
        2,
        *SMALL,
        "--scheduled-time",
        192,
        "--partitions",
        2,
        "--keep",
        env=model(faults, plain_mpi, MODEL_BANDWIDTH=1e7, MODEL_SLOW_FILE="n2-type4"),
    )
    assert done.returncode == 0 and "left out calls" in done.stdout, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    table = {(r["method"], r["pattern"]): r for r in log.records["measurement"]}
    assert not [
        key
        for key, r in table.items()
        if r["ended_by"] == "overrun" and ((key[0] == "write" and key[1] < 36) or key[1] < 25)
    ]
    for number in range(36, 42):
        assert table["write", number]["ended_by"] == "overrun" and table["write", number]["calls_max"] == 1
        assert table["write", number - 9]["calls_min"] > 1
    assert (
        table["rewrite", 35]["ended_by"] == "overrun"
        and table["rewrite", 35]["calls_max"] < table["write", 35]["calls_min"]
    )
    [scratch] = [path for path in tmp_path.iterdir() if path.is_dir()]
    for name, data in files_by_definition(records(tmp_path), 0, scratch):
        assert np.array_equal(np.fromfile(scratch / name, dtype=np.uint8), data), name
    score_records(tmp_path)
    score = score_log(tmp_path / "log.jsonl")
    assert not score.official and "overrun" in [q.key for q in score.qualifications]


def score_records(folder):
    """The metrics; the run's length by a clock that is a formula says nothing about the real one."""
    lines = (folder / "log.jsonl").read_text().splitlines()
    (folder / "log.jsonl").write_text(
        "\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"elapsed_seconds": 1e4})]) + "\n"
    )
    return {name: metric.value for name, metric in score_log(folder / "log.jsonl").metrics.items()}


def test_agreements_after_every_access_are_counted(plain_mpi, tmp_path):
    run(plain_mpi, tmp_path, 2, *BRIEF, "--agree-per-access", "--partitions", 2)
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["termination"] == "per-access"
    assert all(r["agreements"] == (r["calls_min"] + 1 if is_agreed(r) else 0) for r in log.records["measurement"])


def test_top_clusters_form_rewrites_type_0_only(plain_mpi, tmp_path):
    done = run(plain_mpi, tmp_path, 3, *BRIEF, "--top-clusters", "--partitions", "1,2,3")
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert {r["type"] for r in log.records["measurement"] if r["method"] == "rewrite"} == {"scatter"}
    order = [(r["method"], r["partition"]) for r in log.records["pattern_type"]]
    assert list(dict.fromkeys(order)) == [(method, k) for method in ("write", "rewrite", "read") for k in (1, 2, 3)]
    assert next(iter(score_log(tmp_path / "log.jsonl").metrics)) == "b_eff_io_2_1"


def test_chunks_and_segments_beyond_what_an_int_counts(plain_mpi, tmp_path):
    """A chunk of 2 GiB + 8 MiB goes in one call, segments are 3 GiB; on a file system in memory, where there is
    room."""
    folder = Path("/dev/shm")
    space = os.statvfs(folder)
    if (
        space.f_bavail * space.f_frsize < 14 * 2**30
        or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") < 20 * 2**30
    ):
        pytest.skip("needs 14 GiB of memory for files and 3 GiB for buffers")
    done = run(
        plain_mpi,
        tmp_path,
        1,
        *SMALL,
        "--scheduled-time",
        0.05,
        "--largest-chunk",
        "2056MiB",
        "--alignment",
        "3GiB",
        "--types",
        "separate,segmented",
        "--methods",
        "write,read",
        "--directory",
        folder,
    )
    assert done.returncode == 0, done.stderr
    [segment] = {
        r["segment_bytes"] for r in read_log(tmp_path / "log.jsonl").records["pattern_type"] if r["type"] == "segmented"
    }
    assert segment == 3 * 2**30


def test_hints_reach_the_library_and_the_log(tmp_path, mpich):
    hints = tmp_path / "hints.cfg"
    hints.write_text(
        'hints = ( { set = { cb_buffer_size = "1048576"; }; },\n'
        '  { method = "read"; type = "scatter"; chunk = "32KiB"; set = { romio_ds_read = "disable"; }; } );\n'
    )
    done = run((mpich, {}), tmp_path, 2, *BRIEF, "--partitions", 2, "--hints", hints)
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert {r["hints"]["cb_buffer_size"] for r in log.records["pattern_type"]} == {"1048576"}
    with_own = [r for r in log.records["measurement"] if r["hints"] is not None]
    assert [(r["method"], r["pattern"]) for r in with_own] == [("read", 4)]
    assert with_own[0]["hints"]["romio_ds_read"] == "disable" and with_own[0]["hints"]["cb_buffer_size"] == "1048576"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hints = (", "syntax error"),
        ("x = 1;", "no list 'hints'"),
        ('hints = ( { method = "reed"; set = { a = "b"; }; } );', "invalid 'method'"),
        ('hints = ( { chunk = "big"; set = { a = "b"; }; } );', "invalid 'chunk'"),
        ("hints = ( { set = { a = 1; }; } );", "the hint 'a' must be a non-empty text in quotes"),
        ('hints = ( { method = "read"; } );', "with set ="),
    ],
)
def test_hints_that_cannot_be_understood_are_refused(plain_mpi, tmp_path, text, says):
    (tmp_path / "hints.cfg").write_text(text)
    done = run(plain_mpi, tmp_path, 2, *BRIEF, "--hints", tmp_path / "hints.cfg")
    assert done.returncode == 2 and says in done.stderr and "hints.cfg" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--partitions", "2,1"], "ascending"),
        (["--partitions", "3"], "from 1 to 2"),
        (["--partitions", "two"], "list of numbers"),
        (["--methods", "read"], "write is required"),
        (["--types", "segmented"], "it determines the counts of the others"),
        (["--quick", "--top-clusters"], "exclude each other"),
        (["--space-limit", "4MiB"], "running every pattern once requires"),
        (["--largest-chunk", "2097156"], "multiple of 8"),
        (["--directory", "/no/such/place"], "No such file"),
    ],
)
def test_impossible_request_is_refused(plain_mpi, tmp_path, options, says):
    done = run(plain_mpi, tmp_path, 2, *SMALL, *options)
    assert done.returncode == 2 and says in done.stderr
    assert not leftovers(tmp_path) and not (tmp_path / "log.jsonl").exists()


def test_dry_run_tells_time_and_space_and_makes_nothing(plain_mpi, tmp_path):
    done = run(plain_mpi, tmp_path, 2, *SMALL, "--dry-run")
    assert done.returncode == 0 and "1800 s in total" in done.stdout and "GByte are free" in done.stdout
    assert not list(tmp_path.iterdir())


def eviction(log):
    return {q.key for q in score_log(log.path).qualifications} & {"evicted", "not_evicted"}


def test_eviction_that_took_place_is_stated(mpi, tmp_path):
    done = run(mpi, tmp_path, 2, *BRIEF, "--partitions", 2, "--evict")
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert all((r["cached_bytes"] is None) == (r["method"] != "read") for r in log.records["pattern_type"])
    assert eviction(log) == {"evicted"}


def test_eviction_without_effect_is_stated(plain_mpi, tmp_path):
    """A file system in memory keeps its pages."""
    with memory(tmp_path / "small", "size=4g") as small:
        done = run(
            plain_mpi,
            tmp_path,
            2,
            *BRIEF,
            "--space-limit",
            "500MiB",
            "--partitions",
            2,
            "--evict",
            "--directory",
            small,
        )
    assert done.returncode == 0, done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert all(
        r["cached_bytes"] >= r["file_bytes"] / r["files"]
        for r in log.records["pattern_type"]
        if r["method"] == "read" and r["segment_bytes"] is None
    )  # a segment has holes where calls were left out
    assert eviction(log) == {"not_evicted"}


# Faults


def test_eviction_that_fails_ends_the_run(plain_mpi, tmp_path, faults):
    done = run(
        plain_mpi, tmp_path, 2, *BRIEF, "--partitions", 2, "--evict", env=model(faults, plain_mpi, FAULT_EVICT=1)
    )
    assert_failed(done, tmp_path, "cannot evict its file from the cache", "Invalid argument", "--evict")


@contextmanager
def started(mpi, folder, ranks, *options, directory=None, wait_for=6, env=None):
    """A run that has written `wait_for` records."""
    process = subprocess.Popen(
        command(mpi, folder, ranks, *options, env=env) + (["--directory", str(directory)] if directory else []),
        env=os.environ | OPEN_MPI | mpi[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        log = folder / "log.jsonl"
        while not log.exists() or log.read_bytes().count(b"\n") < wait_for:
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1]
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process):
    output, errors = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


LONG = (*SMALL, "--scheduled-time", "60")


def test_disk_that_fills_up_ends_the_run_with_a_clear_error(mpi, tmp_path):
    with memory(tmp_path / "small", "size=600m") as small:
        with started(
            mpi, tmp_path, 2, *LONG, "--partitions", 2, "--space-limit", "550MiB", "--watchdog", 30, directory=small
        ) as process:
            subprocess.run(["dd", "if=/dev/zero", f"of={small}/filler", "bs=1M"], capture_output=True, check=False)
            done = ended(process)
        assert done.returncode != 0 and "error: " in done.stderr
        reason = end(tmp_path)["reason"].lower()
        # ROMIO ends the process itself where it cannot keep its shared pointer; the keeper then closes the log.
        ended_by_romio = "Could not access shared file pointer" in done.stderr and "killed or crashed" in reason
        assert ended_by_romio or any(word in reason for word in ("no space", "disk full", "cannot", "no progress"))
        assert end(tmp_path)["status"] == "failed"
        assert not leftovers(small)


def test_directory_that_is_removed_ends_the_run_with_a_clear_error(mpi, tmp_path):
    with started(mpi, tmp_path, 2, *SMALL, "--scheduled-time", 6, "--partitions", 2) as process:
        [scratch] = tmp_path.glob("b_eff_io-*")
        vanish(scratch)
        done = ended(process)
    assert_failed(done, tmp_path, "cannot open its file")


def test_directory_without_permission_is_a_clear_error(plain_mpi, tmp_path):
    with memory(tmp_path / "closed", "size=600m,ro") as closed:
        done = run(plain_mpi, tmp_path, 2, *BRIEF, "--space-limit", "500MiB", "--directory", closed)
    assert done.returncode == 1 and "cannot create a directory" in done.stderr and "--directory" in done.stderr
    assert end(tmp_path)["status"] == "failed"


@pytest.mark.parametrize("type_number", range(5))
def test_full_disk_on_one_rank_only_ends_the_run(mpi, tmp_path, faults, type_number):
    """The others go on with their calls, collective or not, and learn of it at the end of the pattern or at the next
    agreement."""
    done = run(
        mpi,
        tmp_path,
        3,
        *BRIEF,
        "--partitions",
        "2,3",
        env=model(faults, mpi, FAULT_FULL_RANK=1, FAULT_FULL_FILE=f"n2-type{type_number}"),
    )
    assert_failed(done, tmp_path, f"type {TYPES[type_number]}, pattern", "--space-limit", rank=1)


def test_abort_that_hangs_does_not_keep_the_run(plain_mpi, tmp_path, faults):
    """After failed I/O the MPI library may be beyond its own abort."""
    env = model(faults, plain_mpi, FAULT_FULL_RANK=1, FAULT_ABORT=1)
    done = run(plain_mpi, tmp_path, 3, *BRIEF, "--partitions", "3", env=env)
    assert done.returncode != 0 and "type separate" in done.stderr
    assert end(tmp_path)["status"] == "failed" and not leftovers(tmp_path)


@pytest.mark.parametrize(
    ("file", "offset"),
    [("n2-type0", 0), ("n2-type1", 1234567), ("n2-type2-rank1", 999999), ("n2-type3", 2 * MIB), ("n2-type4", 1048577)],
)
def test_byte_changed_on_disk_is_found_with_its_place(mpi, tmp_path, faults, file, offset):
    done = run(
        mpi,
        tmp_path,
        2,
        *BRIEF,
        "--partitions",
        2,
        "--check-all",
        env=model(faults, mpi, FAULT_FLIP=f"{file}:{offset}"),
    )
    words = f"type {TYPES[int(file[7])]}", "1 of ", f"the first at offset {offset}"
    assert_failed(done, tmp_path, *words, rank=1 if "rank1" in file else None)


def test_byte_changed_in_what_was_read_last_is_found_by_the_sample(plain_mpi, tmp_path, faults):
    """The first pattern is a single call of 1 MiB for each process: all of it is in the sample."""
    done = run(
        plain_mpi,
        tmp_path,
        2,
        *BRIEF,
        "--partitions",
        2,
        env=model(faults, plain_mpi, FAULT_FLIP=f"n2-type0:{MIB + 5}"),
    )
    assert_failed(done, tmp_path, f"offset {MIB + 5}", rank=1)


def test_hanging_shared_pointers_end_the_run_and_name_the_variant(plain_mpi, tmp_path, faults):
    done = run(plain_mpi, tmp_path, 2, *BRIEF, "--watchdog", 2, env=model(faults, plain_mpi, FAULT_HANG=1))
    assert done.returncode == 1 and "--individual-pointers" in done.stderr
    assert "no progress for 2 s" in end(tmp_path)["reason"] and end(tmp_path)["status"] == "failed"
    assert not leftovers(tmp_path)


def test_variant_runs_where_shared_pointers_hang(plain_mpi, tmp_path, faults):
    done = run(plain_mpi, tmp_path, 2, *BRIEF, "--individual-pointers", env=model(faults, plain_mpi, FAULT_HANG=1))
    assert done.returncode == 0 and end(tmp_path)["status"] == "complete"


def test_sigterm_closes_the_log_and_removes_the_files(mpi, tmp_path):
    with started(mpi, tmp_path, 2, *LONG, "--partitions", 2) as process:
        process.send_signal(signal.SIGTERM)
        ended(process)
    assert_gone(tmp_path)
    assert end(tmp_path)["status"] in NOT_COMPLETE


@pytest.mark.parametrize("rank", [0, 1])
def test_killed_rank_leaves_a_closed_log_and_no_files(mpi, tmp_path, rank):
    with started(mpi, tmp_path, 2, *LONG, "--partitions", 2) as process:
        os.kill(kernel_processes(tmp_path)[rank], signal.SIGKILL)
        done = ended(process)
    assert done.returncode != 0
    assert_gone(tmp_path)
    assert end(tmp_path)["status"] in NOT_COMPLETE


def kernel_processes(folder):
    """Process numbers of the ranks, in their order."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                settings = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"/b_eff_io") and str(folder / "log.jsonl").encode() in words:
                rank = next(
                    s.split(b"=")[1] for s in settings if s.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="))
                )
                found[int(rank)] = int(process.name)
    return [found[rank] for rank in sorted(found)]


def assert_gone(folder):
    """What is killed cannot clean up; the keeper beside it does, a moment later."""
    deadline = time.monotonic() + PATIENCE
    log = GrowingLog(folder / "log.jsonl", log_formats())
    log.read_on()
    while (leftovers(folder) or log.course.end is None) and time.monotonic() < deadline:
        time.sleep(0.1)
        log.read_on()
    assert not leftovers(folder)

# SPDX-License-Identifier: Apache-2.0
"""What PRIOMark's kernel asks of its files, as strace sees it, against the definition of its patterns."""

import itertools

import pytest
from builds import faulty
from kernel_runs import good
from priomark_runs import EVERYTHING, KIB, command, leftovers, of_kind, run, straced
from raw_log import read_log
from system_calls import traced

from coffeecup.postprocess.benchmarks.scoring import score_log

RUNS = [("openmpi", 1), ("openmpi", 4), ("openmpi_romio", 2), ("mpich", 2)]


def calls_of(case, ranks):
    """(reads, writes) of all processes, by the definition of the patterns."""
    requests = case["process_bytes"] // case["block_bytes"]
    reads = {"write": 0, "read": requests, "backwards-read": requests}.get(case["pattern"])
    reads = round(requests * case["read_share"]) if reads is None else reads
    return ranks * reads, ranks * (requests - reads)


@pytest.mark.parametrize("mpi, ranks", RUNS, indirect=["mpi"])
def test_every_sub_benchmark_pattern_and_method_moves_what_the_workload_says(mpi, tmp_path, ranks):
    good(run(mpi, tmp_path, "check = true; repetitions = 2;" + EVERYTHING, ranks))
    log = read_log(tmp_path / "log.jsonl")
    cases = {case["case"]: case for case in log.plan["cases"]}
    # by hand, from the lists above: sizes, blocks, patterns with the shares that matter to them, methods
    assert len(cases) == 2 * 2 * (1 + 2 + 2) * 5 + (1 + 1) * 2 + 2 * 2 * 3 + 3 * (1 + 1 + 1 + 1) + 2
    order = [(m["case"], m["repetition"]) for m in log.records["measurement"]]
    assert order == [(case, k) for case in cases for k in (1, 2)]
    for measured in log.records["measurement"]:
        case = cases[measured["case"]]
        reads, writes = calls_of(case, ranks)
        assert measured.items() >= case.items()
        assert (measured["read_calls"], measured["write_calls"]) == (reads, writes)
        moved = [calls * case["block_bytes"] for calls in (reads, writes)]
        assert [measured["read_bytes"], measured["written_bytes"]] == moved
        assert {entry["operation"]: entry["calls"] for entry in measured["latencies"]} == {
            name: calls for name, calls in (("read", reads), ("write", writes)) if calls
        }
        assert bool(measured["values"]) == (case["benchmark"] == "async")
    [check] = log.records["data_check"]
    assert check["read_bytes"] == check["checked_bytes"] == sum(m["read_bytes"] for m in log.records["measurement"])
    assert leftovers(tmp_path) == [] and score_log(log.path).metrics["total"].value > 0


def requests_of(found, name):
    """Of each process: a list per opening of the file, of (operation, offset, bytes), and the flags of open(); the
    filling of a file, which opens it for writing only, is left out."""
    processes = []
    for thread in found:
        openings = []
        for call, path, *values in thread:
            if name not in path:
                continue
            if call == "open":
                openings.append(None if "O_WRONLY" in values[0] else ([], values[0]))
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
    done, found = traced(command(mpi, tmp_path, WATCHED, ranks), tmp_path, tmp_path / "calls", env=mpi.environment)
    assert done.returncode == 0, done.stderr
    planned = read_log(tmp_path / "log.jsonl").plan["cases"]
    assert len(planned) == 3 * 4 + 2 + 4 * 2 + 2  # by hand: patterns times methods
    for benchmark, name in FILES.items():
        cases = [case for case in planned if case["benchmark"] == benchmark]
        processes = requests_of(found, name)
        assert [len(openings) for openings in processes] == [len(cases)] * ranks
        for case, openings in zip(cases, zip(*processes)):
            for _, flags in openings:
                assert ("O_DIRECT" in flags) == (case["method"] in ("posix-direct", "device"))
                assert ("O_RDONLY" in flags) == (case["pattern"] == "backwards-read")
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
        reads = {"write": 0, "backwards-read": BLOCKS}.get(pattern, BLOCKS // 4)
        assert [operation for operation, *_ in requests].count("read") == reads
    assert len({tuple(operation for operation, *_ in requests) for requests in processes}) == 1


def test_files_are_opened_for_writing_only_where_a_case_writes(openmpi, tmp_path):
    """Sixteen blocks: only reads, and one write among them."""
    groups = "common_file = (" + ",".join(
        f'{{ process_size = "64KiB"; block_size = "4KiB"; read_write = "{ratio}"; patterns = "read-write"; '
        'methods = ["individual", "posix"]; }'
        for ratio in ("1:0", "15:1")
    )
    words = command(openmpi, tmp_path, f"{groups});", 1)
    done, found = traced(words, tmp_path, tmp_path / "calls", env=openmpi.environment)
    assert done.returncode == 0, done.stderr
    [openings] = requests_of(found, "common")
    assert ["O_RDONLY" in flags for _, flags in openings] == [True, True, False, False]


@pytest.mark.parametrize("ratio, writes", [("1:0", False), ("15:1", True)])
def test_libraries_that_observe_pwrite_do_not_see_how_files_are_filled(openmpi, tmp_path, ratio, writes):
    """One that fails the first pwrite meets it only where a case writes."""
    keys = f'process_size = "64KiB"; block_size = "4KiB"; read_write = "{ratio}"; patterns = "read-write"'
    fault = faulty(openmpi, "strike", STRIKE_CALL="pwrite", STRIKE_NUMBER=0)
    done = run(openmpi, tmp_path, f"single_file = {{ {keys}; }};", 1, env=fault)
    assert done.returncode == int(writes), done.stderr


RANDOM = 'single_file = { process_size = "256KiB"; block_size = "4KiB"; read_write = "1:1"; patterns = "random-read-write"; };'  # noqa: E501


def order_of(serial, folder, seed):
    folder.mkdir()
    words = command(serial, folder, f"seed = {seed}; repetitions = 2; {RANDOM}", 1)
    done, found = traced(words, folder, folder / "calls")
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
    lines = straced(serial, tmp_path, workload, 1, "-e", "trace=fadvise64")
    advised = [line for line in lines if "POSIX_FADV_DONTNEED" in line and "/single-" in line]
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
        assert bins[0][0] <= entry["shortest_seconds"] <= bins[0][1]
        assert bins[-1][0] <= entry["longest_seconds"] <= bins[-1][1]

# SPDX-License-Identifier: Apache-2.0
"""--read-shift of b_eff_io and PRIOMark: which process reads what, as strace sees it, on nodes that are made up."""

import re

import pytest
from b_eff_io_runs import ALL_TYPES, BRIEF, SMALL
from kernel_runs import error, good, on_nodes, run
from logs_made_b_eff_io import b_eff_io_log
from logs_made_priomark import priomark_log
from raw_log import checked_bytes, read_log
from scores import keys
from system_calls import traced

from coffeecup.postprocess.benchmarks.scoring import score_log

KIB, MIB = 2**10, 2**20


def command(mpi, nodes, kernel, folder, *options):
    """A run with so many processes on each of the nodes."""
    names = [(f"node{number}", processes) for number, processes in enumerate(nodes)]
    return on_nodes(mpi, names, kernel, f"--directory {folder} --log", folder / "log.jsonl", *options)


# By hand: nodes {0}, {1, 2}, {3}; the largest has two processes, so each reads the data of the second one after it.
NODES, READS = (1, 2, 1), {0: 2, 1: 3, 2: 0, 3: 1}
RING = {0: 1, 1: 2, 2: 0}  # three processes of one node


def whose(requests, part):
    """The ranks whose part of the files a process accesses by each operation; `part` finds it in a request."""
    found = {"write": set(), "read": set()}
    for call, path, *values in requests:
        if (kind := call.strip("pv")) in found and (rank := part(path, values)) is not None:
            found[kind].add(rank)
    return found


@pytest.mark.parametrize("nodes, expected", [(NODES, READS), ((3,), RING)])
def test_b_eff_io_reads_what_strace_sees_another_process_write(openmpi, tmp_path, nodes, expected):
    types = ("--types", "separate,segmented", "--partitions", "all", "--space-limit", "200MiB", "--read-shift")
    words = command(openmpi, nodes, "b_eff_io", tmp_path, *SMALL, "--scheduled-time 0.3", *types)
    done, threads = traced(words, tmp_path, tmp_path / "strace", env=openmpi.environment)
    good(done)
    log = read_log(tmp_path / "log.jsonl")
    [segment] = {r["segment_bytes"] for r in log.records["pattern_type"] if r["type"] == "segmented"}

    def of_file(path, values):
        name = re.search(r"type2-rank(\d+)$", path)
        return int(name[1]) if name else None

    def of_segment(path, values):
        return values[0] // segment if path.endswith("type3") else None

    for part in (of_file, of_segment):
        found = (whose(requests, part) for requests in threads)
        accessed = {(*entry["write"],): (*entry["read"],) for entry in found if entry["write"]}
        assert accessed == {(writer,): (reader,) for writer, reader in expected.items()}
    assert log.plan["read_shift"] == ("node" if len(nodes) > 1 else "process")


def test_every_type_of_b_eff_io_reads_the_right_bytes_after_a_shift(mpi, tmp_path):
    """Type separate has other counts in each process: the reader makes as many calls as the writer made."""
    types = f"--types {ALL_TYPES} --partitions all"
    good(run(command(mpi, NODES, "b_eff_io", tmp_path, *BRIEF, "--check-all --read-shift", types), env=mpi.environment))
    log = read_log(tmp_path / "log.jsonl")
    assert checked_bytes(log)
    counted = [r for r in log.records["measurement"] if r["ended_by"] == "count"]
    counts = {(r["method"], r["pattern"]): (r["calls_min"], r["calls_max"], r["calls_sum"]) for r in counted}
    both = [n for method, n in counts if method == "read" and ("write", n) in counts]
    assert both and all(counts["read", n] == counts["write", n] for n in both)
    assert "read_shift" in keys(score_log(log.path))


WORKLOAD = """evict = false; repetitions = 2;
common_file = { process_size = "64KiB"; block_size = "4KiB"; read_write = "1:1"; methods = ["posix", "explicit-collective"]; };
strided = { process_size = "64KiB"; block_size = "4KiB"; blocks_per_stride = 2; read_write = "1:0"; patterns = "read-write"; };
async = { process_size = "64KiB"; };
single_file = { process_size = "64KiB"; block_size = "4KiB"; read_write = "1:0"; patterns = ["read-write", "backwards-read"]; };
"""  # noqa: E501


def test_priomark_reads_what_strace_sees_another_process_write(openmpi, tmp_path):
    text = "\n".join(line for line in WORKLOAD.splitlines() if not line.startswith(("strided", "async")))
    (tmp_path / "workload.cfg").write_text(text.replace(', "explicit-collective"', ""))
    words = command(openmpi, NODES, "priomark", tmp_path, "--workload", tmp_path / "workload.cfg", "--read-shift")
    done, threads = traced(words, tmp_path, tmp_path / "strace", env=openmpi.environment)
    good(done)

    def of_file(path, values):
        name = re.search(r"single-0*(\d+)$", path)
        return int(name[1]) if name else None

    def of_range(path, values):
        return values[0] // (64 * KIB) if path.endswith("common") else None

    def parts(requests, part):
        """Whose part is accessed by each opening of a file, and whether it was filled (opened for writing only)."""
        openings = []
        for call, path, *values in requests:
            if call == "open" and re.search(r"(single-\d+|common)$", path):
                openings.append(("O_WRONLY" in values[0], set()))
            elif call in ("pread", "pwrite") and (rank := part(path, values)) is not None:
                openings[-1][1].add(rank)
        return [(filled, *ranks) for filled, ranks in openings if ranks]

    # fill by the writer, access by the reader; `write` creates and is not shifted
    for part, cases in ((of_file, "pp"), (of_range, "wpp")):
        found = sorted(openings for requests in threads if (openings := parts(requests, part)))
        assert found == sorted(
            [
                opening
                for case in cases
                for _ in range(2)
                for opening in ([(False, rank)] if case == "w" else [(True, rank), (False, READS[rank])])
            ]
            for rank in READS
        )
    assert read_log(tmp_path / "log.jsonl").plan["read_shift"] == "node"


def test_every_sub_benchmark_reads_the_right_bytes_after_a_shift(mpi, tmp_path):
    (tmp_path / "workload.cfg").write_text("check = true;" + WORKLOAD.removeprefix("evict = false; repetitions = 2;"))
    words = command(mpi, NODES, "priomark", tmp_path, "--workload", tmp_path / "workload.cfg", "--read-shift")
    good(run(words, env=mpi.environment))
    log = read_log(tmp_path / "log.jsonl")
    assert checked_bytes(log) == sum(m["read_bytes"] for m in log.records["measurement"])
    assert "read_shift" in keys(score_log(log.path))
    assert not list(tmp_path.glob("priomark-*"))


@pytest.mark.parametrize(
    "kernel, nodes, options, words",
    [
        ("b_eff_io", (2,), (), "in the partition of 1, a single process has no other one"),
        ("b_eff_io", (3, 1), ("--partitions", "all"), "in the partition of 4, one node has more than half"),
        ("b_eff_io", (2, 2), ("--partitions", "2,4"), "in the partition of 2, one node has more than half"),
        ("priomark", (1,), (), "a single process has no other one"),
        ("priomark", (1, 2), (), "one node has more than half"),
        ("priomark", (2,), ("--workload", "trace"), "its processes read their own data only: omit --read-shift"),
        ("priomark", (2,), ("--workload", "device"), "no other one can read it: omit --read-shift"),
    ],
)
def test_shift_that_would_stay_on_a_node_is_refused(openmpi, tmp_path, kernel, nodes, options, words):
    workloads = {"trace": 'trace = { recording = "."; };', "device": 'raw = { device = "/dev/null"; };'}
    for name, text in workloads.items():
        (tmp_path / f"{name}.cfg").write_text(text)
    options = [tmp_path / f"{option}.cfg" if option in workloads else option for option in options]
    small = SMALL if kernel == "b_eff_io" else ()
    asked = command(openmpi, nodes, kernel, tmp_path, *small, *options, "--read-shift")
    done = run(asked, env=openmpi.impatient.environment)
    assert done.returncode == 2 and words in error(done), done.stderr
    assert not (tmp_path / "log.jsonl").exists()


# --- what a log has to state ------------------------------------------------------------------------------------------


def shifted(records, plan="node", option=True, hosts=None):
    run, planned, *others = records
    run = {**run, "options": {**run["options"], "read-shift": option}, "hosts": hosts or run["hosts"]}
    return [run, {**planned, "read_shift": plan}, *others]


def with_ranks(records, *ranks):
    host, memory = records[0]["hosts"][0], records[0]["memory_per_process_bytes"]
    return [
        {**host, "name": f"node{number}", "ranks": list(own), "memory_bytes": len(own) * memory}
        | {"core_sets": host["core_sets"][:1] * len(own)}
        for number, own in enumerate(ranks)
    ]


@pytest.mark.parametrize("made", [lambda: b_eff_io_log(partitions=(8,)), lambda: priomark_log(ranks=8)])
def test_log_must_agree_with_itself_on_the_shift(scored, made):
    records = made()
    assert "read_shift" in keys(scored(shifted(records)))
    assert "read_shift" not in keys(scored(records))
    assert "[read_shift]" in scored(shifted(records, option=False))
    assert "[read_shift]" in scored(shifted(records, plan=None))
    assert "[read_shift]" in scored(shifted(records, plan="process"))
    half = with_ranks(records, range(4), range(4, 8))
    more = with_ranks(records, range(5), range(5, 8))
    assert "read_shift" in keys(scored(shifted(records, hosts=half)))
    assert "[read_shift]" in scored(shifted(records, hosts=more))


def test_shift_on_one_node_is_stated_to_share_the_page_cache(scored):
    records = priomark_log(ranks=2, nodes=1)
    [text] = [q.text for q in scored(shifted(records, plan="process")).qualifications if q.key == "read_shift"]
    assert "through the same page cache" in text
    single = priomark_log(ranks=1, nodes=1)
    assert "[read_shift]" in scored(shifted(single, plan="process"))


def test_partition_within_a_node_cannot_have_been_shifted(scored):
    records = b_eff_io_log(partitions=(2, 4, 8))  # 4 processes on each of 2 nodes
    assert "[read_shift]" in scored(shifted(records))

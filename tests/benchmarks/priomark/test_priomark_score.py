# SPDX-License-Identifier: Apache-2.0
"""PRIOMark's reductions on logs whose numbers are known by hand, and what qualifies a log."""

import math
from types import SimpleNamespace

import logs_made
import numpy as np
import pytest
from builds import ROOT
from hypothesis import given
from hypothesis import strategies as st
from logs_made import of_kind
from logs_made_priomark import ALL, GIB, KIB, MIB, cases, interface, priomark_log
from scores import keys

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.priomark import rules
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.history.change_points import own_rule
from coffeecup.postprocess.logs.percentiles import percentile
from coffeecup.postprocess.reports.page import html, items

BY_PATTERN = {"write": 100e6, "read-write": 50e6, "random-read-write": 10e6, "read": 80e6, "backwards-read": 40e6}


def score(tmp_path, **options):
    return score_log(logs_made.write(tmp_path / "log.jsonl", priomark_log(**options)))


def value(score, name):
    return score.metrics[name].value


# --- values by hand ---------------------------------------------------------------------------------------------------


def test_total_is_the_mean_over_sub_benchmarks_of_the_mean_over_their_cases(tmp_path):
    """Write 100, read-write 50, random 10, read 80, backwards 40 MByte/s, whatever the method: by hand

    common_file 160 / 3, strided 75, async (100 + 80) / 2 = 90, single_file 200 / 4 = 50, raw 30; their sum 298.33 / 5.
    """
    found = score(tmp_path, bandwidth=lambda case, _: BY_PATTERN[case["pattern"]], benchmarks=ALL)
    assert value(found, "common_file") == pytest.approx(160 / 3)
    assert [value(found, name) for name in ALL[1:]] == pytest.approx([75, 90, 50, 30])
    assert value(found, "total") == pytest.approx((160 / 3 + 75 + 90 + 50 + 30) / 5)
    assert value(found, "total_per_process") == pytest.approx((160 / 3 + 75 + 90 + 50 + 30) / 20)


def test_geometric_total_takes_products_and_roots_of_the_same_cases(tmp_path):
    both = ("strided", "single_file")
    found = score(tmp_path, bandwidth=lambda case, _: BY_PATTERN[case["pattern"]], benchmarks=both)
    strided, single_file = math.sqrt(100 * 50), (100 * 50 * 10 * 40) ** (1 / 4)
    assert value(found, "total_geometric") == pytest.approx(math.sqrt(strided * single_file))
    assert value(found, "total") == pytest.approx((75 + 50) / 2)


def test_sub_benchmark_with_more_cases_weighs_no_more(tmp_path):
    rates = {"common_file": 90e6, "raw": 30e6}
    blocks = {"block_bytes": (4 * KIB, 16 * KIB, MIB)}
    found = score(tmp_path, bandwidth=lambda case, _: rates[case["benchmark"]], benchmarks=tuple(rates), **blocks)
    assert value(found, "total") == pytest.approx(60)


def test_repetitions_are_averaged(tmp_path):
    rates = {1: 10e6, 2: 20e6, 3: 60e6}
    found = score(tmp_path, bandwidth=lambda _, repetition: rates[repetition], benchmarks=("raw",), repetitions=3)
    assert value(found, "total") == pytest.approx(30)


def test_losses_are_those_of_the_definition(tmp_path):
    """A calculation of 0.6 s takes 1.2 s beside a transfer, which takes 1 s in place of 2/3 s: half and a third are
    lost."""
    found = score(tmp_path, benchmarks=("async",))
    assert value(found, "acl") == pytest.approx(0.5)
    assert value(found, "abl") == pytest.approx(1 / 3)


def test_losses_take_the_slowest_process_and_are_in_no_mean(tmp_path):
    records = priomark_log(benchmarks=("async",), ranks=2, nodes=1)
    for record in of_kind(records, "measurement"):
        record["values"] |= {
            "io_alone_seconds": [1.0, 3.0],
            "io_overlapped_seconds": [4.0, 2.0],
            "calculation_alone_seconds": [4.5, 1.0],
            "calculation_overlapped_seconds": [5.0, 5.0],
        }
        record |= {"access_seconds": 4.0, "elapsed_seconds": 4.0, "fastest_seconds": 4.0}
        calls = {"sum_seconds": 6.0, "shortest_seconds": 2.0, "longest_seconds": 4.0, "bin_calls": [1, 1]}
        record["latencies"][0] |= calls | {"from_seconds": [1.98, 3.96], "to_seconds": [2.02, 4.04]}
    for record in of_kind(records, "process_times"):
        record |= {"access_seconds": [4.0, 2.0], "elapsed_seconds": [4.0, 4.0]}
    records[-1]["elapsed_seconds"] = 100.0
    found = score_log(logs_made.write(tmp_path / "log.jsonl", records))
    assert (value(found, "acl"), value(found, "abl")) == pytest.approx((0.1, 0.25))
    assert value(found, "total") == pytest.approx(2 * 32 * MIB / 4 / 1e6)


@pytest.mark.parametrize("covered", [[1.0, 1.0], [1.0, 0.0]])
def test_calculation_that_ended_before_the_transfer_is_named(tmp_path, covered):
    records = priomark_log(benchmarks=("async",), ranks=2, nodes=1)
    values = of_kind(records, "measurement")[0]["values"]
    values["covered"] = covered
    values["calculation_overlapped_seconds"] = [
        (1.2 if whole else 0.8) * seconds for whole, seconds in zip(covered, values["io_overlapped_seconds"])
    ]
    found = score_log(logs_made.write(tmp_path / "log.jsonl", records))
    said = [q.text for q in found.qualifications if q.key == "not_covered"]
    assert [text.startswith("In 1 measurement of async") for text in said] == [True] * (covered[1] < 1)


def test_metrics_of_what_did_not_run_are_left_out(tmp_path):
    found = score(tmp_path, benchmarks=("raw",))
    latencies = {f"{way}_latency_{which}" for way in ("read", "write") for which in ("median", "p99")}
    assert set(found.metrics) == {"total", "total_per_process", "total_geometric", "raw"} | latencies


def with_interface(method="mine"):
    """Two cases of `raw` and one of `single_file`, which reads blocks of 4 KiB by a loaded interface."""
    inside = cases(("raw",), (MIB,), (4 * KIB,), 0.5, "device")
    [own] = [
        case for case in cases(("single_file",), (MIB,), (4 * KIB,), 0.5, "") if case["pattern"] == "backwards-read"
    ]
    return [*inside, {**own, "case": len(inside) + 1, "method": method}]


@pytest.mark.parametrize(
    ("figure", "unit", "number", "better"),
    [
        ("bandwidth", "MByte/s", 4.096, Better.HIGHER),
        ("rate", "operations/s", 1000, Better.HIGHER),
        ("latency", "ms", 4, Better.LOWER),
    ],
)
def test_loaded_interface_has_a_metric_of_its_own_unit_and_direction(tmp_path, figure, unit, number, better):
    """4 processes with 4.096 million byte/s together: 1000 blocks of 4096 byte in a second, 4 ms for each process's."""
    loaded = interface("mine", figure, properties="library 1.2")
    records = priomark_log(bandwidth=lambda *_: 4.096e6, planned=with_interface(), interfaces=[loaded])
    path = logs_made.write(tmp_path / "log.jsonl", records)
    found, name = score_log(path), f"mine_{figure}"
    assert value(found, name) == pytest.approx(number) and found.metrics[name].unit == unit
    assert own_rule({"benchmark": "priomark", "metric": name, "better": Better.UNKNOWN}).better == better
    assert "interfaces" in keys(found) and value(found, "total") == pytest.approx(4.096)
    text = html(items([path]))
    assert f"mine: {figure} of a loaded interface" in text and "library 1.2" in text and loaded["sha256"] in text


def test_metric_of_an_interface_is_the_mean_over_sub_benchmarks_of_its_own_cases(tmp_path):
    """single_file 30; raw 10 and 20, beside 99 by its own method: (30 + 15) / 2."""
    planned = [case | {"method": "mine"} for case in cases(("raw",), (MIB,), (4 * KIB,), 0.5, "file")]
    planned += [planned[0] | {"method": "device"}, with_interface()[-1]]
    planned = [case | {"case": number} for number, case in enumerate(planned, 1)]
    rates = dict(zip(range(1, 5), (10e6, 20e6, 99e6, 30e6)))
    found = score(
        tmp_path, bandwidth=lambda case, _: rates[case["case"]], planned=planned, interfaces=[interface("mine")]
    )
    assert value(found, "mine_bandwidth") == pytest.approx(22.5)


@pytest.mark.parametrize(("method", "cached"), [("posix", True), ("mine", False)])
def test_latencies_of_a_loaded_interface_are_not_called_copies_into_the_page_cache(tmp_path, method, cached):
    planned = [
        case | {"method": method, "case": 1}
        for case in cases(("single_file",), (MIB,), (4 * KIB,), 0.5, "")
        if case["pattern"] == "write"
    ]
    found = score(tmp_path, planned=planned, interfaces=[] if cached else [interface("mine")])
    assert ("cached_writes" in keys(found)) == cached


# --- replays ----------------------------------------------------------------------------------------------------------


def replayed(**values):
    """A log of a replay by four processes, two copies of a recording of two."""
    case = cases(("single_file",), (32 * MIB,), (16 * KIB,), 0.5, "device")[0] | {
        "benchmark": "trace",
        "pattern": "replay",
        "read_share": 0.5,
    }
    records = priomark_log(ranks=4, planned=[case])
    counts = dict.fromkeys(
        ("differing_results", "threads", "overlapped", *(f"unseen_{kind}" for kind in rules.UNSEEN)), [0.0] * 4
    )
    of_kind(records, "measurement")[0]["values"] = counts | {"copies": [2.0] * 4} | values
    return records


def test_replay_is_qualified_by_its_copies_and_by_what_was_not_recorded(scored):
    """Both copies count the same: 3 mapped files and a ring in one."""
    found = {q.key: q.text for q in scored(replayed()).qualifications}
    assert "2 copies of the recorded program" in found["made_concurrent"]
    assert "not_recorded" not in found and "differing" not in found
    counted = replayed(unseen_mmap=[1.0, 2.0, 1.0, 2.0], unseen_io_uring=[1.0, 0.0] * 2, differing_results=[0, 0, 0, 1])
    found = {q.key: q.text for q in scored(counted).qualifications}
    assert "3 mapped files (mmap) and 1 ring of requests (io_uring)" in found["not_recorded"]
    assert "1 request of the replay" in found["differing"]
    assert "made_concurrent" not in keys(scored(replayed(copies=[1.0] * 4)))


# --- latencies --------------------------------------------------------------------------------------------------------


def bins(edges, calls, shortest=None, longest=None):
    return SimpleNamespace(
        from_seconds=edges[:-1],
        to_seconds=edges[1:],
        bin_calls=calls,
        calls=sum(calls),
        shortest_seconds=edges[0] if shortest is None else shortest,
        longest_seconds=edges[-1] if longest is None else longest,
    )


THREE = [bins([1.0, 2.0, 4.0, 8.0], [50, 49, 1])]
LONG, SHORT = (lambda calls: bins([8.0, 16.0], [calls])), (lambda calls: bins([1.0, 2.0], [calls]))


@pytest.mark.parametrize(
    ("found", "share", "expected"),
    [
        # the middle of the bin that holds the call
        *((THREE, share, middle) for share, middle in ((0.5, 1.5), (0.51, 3), (0.99, 3), (0.991, 6), (1.0, 6))),
        ([bins([1.0, 2.0], [1], shortest=1.9, longest=1.9)], 0.5, 1.9),  # between the shortest and the longest call
        ([LONG(1), SHORT(99)], 0.99, 1.5),  # of all calls of several cases
        ([LONG(2), SHORT(98)], 0.99, 12),
        ([], 0.5, math.nan),
    ],
)
def test_percentile_of_known_calls(found, share, expected):
    assert percentile(found, share) == pytest.approx(expected, nan_ok=True, rel=1e-12)


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.99, 0.999]))
def test_percentile_is_that_of_the_calls_within_half_a_bin(times, share):
    """Against sorted times: bins of an eighth of an octave."""
    edges = 1e-6 * 2 ** (np.arange(0, 200) / 8)
    place = np.searchsorted(edges, times, side="right") - 1
    used, calls = np.unique(place, return_counts=True)
    found = SimpleNamespace(
        from_seconds=edges[used].tolist(),
        to_seconds=edges[used + 1].tolist(),
        bin_calls=calls.tolist(),
        shortest_seconds=min(times),
        longest_seconds=max(times),
    )
    exact = sorted(times)[math.ceil(share * len(times)) - 1]
    assert percentile([found], share) == pytest.approx(exact, rel=2 ** (1 / 8) - 1)


# --- what stands beside the number ------------------------------------------------------------------------------------


def test_parts_name_what_went_into_the_total_and_what_did_not(tmp_path):
    [parts] = [q.text for q in score(tmp_path, benchmarks=("common_file", "raw")).qualifications if q.key == "parts"]
    assert "mean of common_file and raw under the workload figure_3; without strided, async and single_file" in parts


def test_official_is_the_papers_workload_with_all_sub_benchmarks(tmp_path):
    everything = ("common_file", "strided", "async", "single_file", "raw")
    papers = (ROOT / "kernels" / "priomark" / "workloads" / "default.cfg").read_text()

    def breaches(workload="default", workload_text=papers, benchmarks=everything):
        found = score(tmp_path, workload=workload, workload_text=workload_text, benchmarks=benchmarks).breaches
        return [breach.key for breach in found]

    assert breaches() == []
    assert breaches(benchmarks=everything[1:]) == ["left_out"]
    assert breaches(workload="./default.cfg") == ["workload"]
    assert breaches(workload_text=papers.replace('block_size = "16KiB"', 'block_size = "4MiB"')) == ["workload"]


HUGE = {"process_bytes": (16 * GIB,), "block_bytes": (MIB,)}


@pytest.mark.parametrize(
    ("options", "affected"),
    [
        ({}, True),
        ({"evicted": True}, False),
        (HUGE | {"node_memory": 16 * GIB}, False),
        (HUGE | {"cache": 100 * GIB}, True),
        ({"benchmarks": ("raw",)}, False),
    ],
)
def test_reads_that_memory_holds_are_marked_unless_evicted_or_direct(tmp_path, options, affected):
    found = score(tmp_path, **{"evicted": False} | options)
    assert ("cache_affected" in keys(found)) is affected
    assert [qualification.key for qualification in found.cache_affected] == ["cache_affected"] * affected


@pytest.mark.parametrize(
    ("key", "with_it", "without"),
    [
        ("raw_on_file", {"benchmarks": ("raw",), "target": "file"}, {"benchmarks": ("raw",)}),
        ("build", {"benchmarks": ("raw",), "build": "mpi"}, {"benchmarks": ("raw",)}),
        ("short", {"bandwidth": lambda *_: 1e12}, {}),
    ],
)
def test_raw_on_a_file_builds_without_mpi_io_and_short_measurements_are_told(tmp_path, key, with_it, without):
    assert key in keys(score(tmp_path, **with_it)) and key not in keys(score(tmp_path, **without))

# SPDX-License-Identifier: Apache-2.0
"""Thresholds from both sides, with literals: the last value that is fine, and the next one that is not."""

import copy
from math import isnan
from pathlib import Path
from types import SimpleNamespace

import pytest
from logs_made import of_kind, with_cores
from logs_made_b_eff import averaged_log, retimed
from logs_made_b_eff_io import MIB, b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log
from reframe.utility.sanity import assert_reference, evaluate
from scores import keys
from sessions_made import nights, values_of

from coffeecup.postprocess.logs.activity import of_activity, of_overlap, used
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Activity, Overlap
from coffeecup.postprocess.references.proposals import Terms, entries

# --- hosts and placement ----------------------------------------------------------------------------------------------


LOGS = [made(ranks=16, nodes=2) for made in (averaged_log, ftio_log, priomark_log)]
LOGS.append(b_eff_io_log(ranks=16, nodes=2, partitions=(16,)))


@pytest.mark.parametrize(("cores", "overcommitted"), [(7, True), (8, False), (9, False)])
@pytest.mark.parametrize("records", LOGS, ids=lambda records: records[0]["benchmark"])
def test_eight_processes_overcommit_seven_cores_and_not_eight(scored, records, cores, overcommitted):
    records = copy.deepcopy(records)
    for host in range(2):
        with_cores(records, host, cores)
    assert ("overcommitted" in keys(scored(records))) is overcommitted


@pytest.mark.parametrize(
    ("per_node", "as_requested"), [(4, False), (5, True), (6, True), (8, True), (9, True), (10, False)]
)
def test_ten_processes_need_as_many_hosts_as_hold_them(scored, per_node, as_requested):
    """Ten processes, five on each of two hosts: 4 a host would need three, 9 two of them, 10 one."""
    records = averaged_log(ranks=10, nodes=2)
    records[0]["environment"]["COFFEECUP_ASKED"] = f"processes_per_node={per_node}"
    assert ("not_as_requested" not in keys(scored(records))) is as_requested


@pytest.mark.parametrize(
    ("cores", "others", "stolen", "found"),
    [
        (4, 0.099, 0.0, []),  # a tenth of a core
        (4, 0.101, 0.0, ["load_of_others"]),
        (64, 0.639, 0.0, []),  # a hundredth of the cores
        (64, 0.641, 0.0, ["load_of_others"]),
        (64, 0.0, 0.639, []),
        (64, 0.0, 0.641, ["stolen"]),
        (1, 0.0, 0.011, ["stolen"]),
        (64, 1.0, 1.0, ["load_of_others", "stolen"]),
    ],
)
def test_others_use_more_than_a_hundredth_of_the_cores(cores, others, stolen, found):
    used = SimpleNamespace(others_user_seconds=100 * others, stolen_seconds=100 * stolen)
    run = SimpleNamespace(hosts=[SimpleNamespace(name="n", cores=cores, online_cores=cores)], simulated=False)
    activity = SimpleNamespace(elapsed_seconds=100.0, hosts=[used])
    assert [key for key, _ in of_activity(Log(Path(), "", run, None, {Activity: [activity]}))] == found


def test_the_busiest_host_is_named_and_the_others_are_counted():
    """Of two that are equally busy, the first."""
    hosts = [SimpleNamespace(name=name, cores=8, online_cores=8) for name in "abc"]
    others = {1: "", 2: " and less of 1 more host", 3: " and less of 2 more hosts"}
    for count, more in others.items():
        busy = list(zip([3.0, 3.0, 2.0], hosts))[:count]
        assert used(busy) == f"used 3 of 8 cores of a{more}, on average over the run"
    assert used([(1.0, hosts[0]), (2.0, hosts[1])]).startswith("used 2 of 8 cores of b and")


@pytest.mark.parametrize(
    ("directories", "named"), [(["b_eff_io-1", "ftio-2"], "b_eff_io-1, ftio-2;"), ([], "a shorter one;")]
)
def test_other_runs_in_the_directory_are_named(directories, named):
    log = Log(Path(), "", None, None, {Overlap: [SimpleNamespace(directories=directories)]})
    [(key, text)] = of_overlap(log)
    assert key == "overlapped" and f"during this one: {named}" in text


# --- b_eff ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "short"), [(0.99e-3, True), (1.01e-3, False)])
def test_a_loop_of_less_than_a_millisecond_is_short(scored, seconds, short):
    records = averaged_log()
    ring = next(r for r in of_kind(records, "measurement") if r["pattern"] == "ring-1" and r["message_bytes"] == 64)
    ring.update(retimed(ring, seconds))
    assert ("short_loops" in keys(scored(records))) is short


# --- b_eff_io ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "affected"), [(0, False), (1, True)])
def test_twenty_times_the_cache_is_enough_and_a_cache_larger_by_a_byte_is_not(scored, more, affected):
    def accessed(records):  # each access method moves the same
        return sum(r["bytes"] for r in of_kind(records, "measurement") if r["method"] == "read")

    logs = (b_eff_io_log(partitions=(8,), scheduled=float(seconds)) for seconds in range(900, 1000))
    records = next(log for log in logs if accessed(log) % 20 == 0)
    of_kind(records, "plan")[0]["cache_bytes"] = accessed(records) // 20 + more
    assert ("cache_affected" in keys(scored(records))) is affected


@pytest.mark.parametrize(("longer", "late"), [(1.04, False), (1.06, True)])
def test_five_percent_more_than_the_scheduled_time_is_allowed(scored, longer, late):
    """Every pattern moves what its share of the time gives: together exactly the scheduled time, here stretched."""
    records = b_eff_io_log(partitions=(8,), scheduled=900.0, overhead_share=0.0)
    taken = sum(r["elapsed_seconds"] for r in of_kind(records, "pattern_type"))
    for record in (*of_kind(records, "plan"), *of_kind(records, "measurement")):
        record["scheduled_seconds"] *= taken / longer / 900.0
    assert ("time_overrun" in keys(scored(records))) is late


@pytest.mark.parametrize(("share", "said"), [(0.019, False), (0.021, True)])
def test_two_percent_of_the_time_in_agreements_is_allowed(scored, share, said):
    records = b_eff_io_log()
    every = of_kind(records, "measurement")
    agreeing = [record for record in every if record["agreements"]]
    factor = sum(r["elapsed_seconds"] for r in every) / sum(r["elapsed_seconds"] for r in agreeing)
    for record in agreeing:
        seconds = share * factor * record["elapsed_seconds"]
        record.update(agreement_seconds=seconds, agreement_fastest_seconds=seconds)
    assert ("agreement" in keys(scored(records))) is said


@pytest.mark.parametrize(("method", "said"), [("write", False), ("rewrite", True), ("read", True)])
def test_a_pattern_that_accessed_less_than_was_written_is_reported(scored, method, said):
    """A call of each process less, of 32 KiB."""
    records = b_eff_io_log()
    if method != "write":
        cut = next(r for r in of_kind(records, "measurement") if (r["method"], r["pattern"]) == (method, 12))
        less = cut["partition"] * cut["call_bytes"]
        of_type = next(r for r in of_kind(records, "pattern_type") if (r["method"], r["type"]) == (method, "shared"))
        calls = {name: cut[name] - 1 for name in ("calls_min", "calls_max")}
        cut.update(calls, calls_sum=cut["calls_sum"] - cut["partition"], bytes=cut["bytes"] - less, ended_by="time")
        of_type["bytes"] -= less
        of_kind(records, "data_check")[0]["read_bytes"] -= less * (method == "read")
    assert ("not_all_accessed" in keys(scored(records))) is said


@pytest.mark.parametrize(("first", "refused"), [(0.85, False), (0.90, False), (0.9000001, True)])
def test_the_first_process_is_done_no_later_than_the_last(scored, first, refused):
    records = b_eff_io_log()
    record = of_kind(records, "measurement")[5]
    record["first_done_seconds"] = first / 0.9 * record["last_done_seconds"]
    assert isinstance(scored(records), str) is refused


@pytest.mark.parametrize("log", [b_eff_io_log, priomark_log])
@pytest.mark.parametrize(("less", "said"), [(None, False), (0, False), (1, True)])
def test_a_stated_cache_is_reported_if_it_is_smaller_than_the_memory(scored, log, less, said):
    """Otherwise a cache of 1 byte would make every result look like that of disks."""
    records = log()
    if less is not None:
        memory = sum(host["memory_bytes"] for host in records[0]["hosts"])
        records[1]["cache_bytes"] = records[0]["options"]["cache-size"] = memory - less
    assert ("cache_by_option" in keys(scored(records))) is said


# --- PRIOMark ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cache_bytes", "affected"), [(4 * 32 * MIB - 1, False), (4 * 32 * MIB, True)])
def test_files_that_the_cache_holds_to_the_byte_are_cache_affected(scored, cache_bytes, affected):
    records = priomark_log(
        benchmarks=("common_file",), evicted=False, ranks=4, process_bytes=(32 * MIB,), cache=cache_bytes
    )
    assert ("cache_affected" in keys(scored(records))) is affected


@pytest.mark.parametrize(("seconds", "short"), [(0.0099, True), (0.0101, False)])
def test_a_measurement_of_less_than_10_ms_is_short(scored, seconds, short):
    records = priomark_log(lambda *_: 4 * MIB / seconds, benchmarks=("raw",), ranks=4, process_bytes=(MIB,))
    assert ("short" in keys(scored(records))) is short


def test_latencies_are_in_milliseconds(scored):
    """Every call takes 0.25 ms: 2048 calls of 16 KiB in 0.512 s."""
    records = priomark_log(lambda *_: 5e7, benchmarks=("common_file",), ranks=1, nodes=1)
    for record in of_kind(records, "measurement"):
        for latencies in record["latencies"]:
            each = dict.fromkeys(("shortest_seconds", "longest_seconds"), 0.25e-3)
            bins = {"from_seconds": [0.249e-3], "to_seconds": [0.251e-3], "bin_calls": [latencies["calls"]]}
            latencies |= {"sum_seconds": 0.25e-3 * latencies["calls"], **each, **bins}
    metrics = scored(records).metrics
    for name in ("read_latency_median", "read_latency_p99", "write_latency_median", "write_latency_p99"):
        assert (metrics[name].value, metrics[name].unit) == (pytest.approx(0.25, rel=1e-6), "ms")


# --- references -------------------------------------------------------------------------------------------------------


def test_bound_of_a_negative_reference_lies_above_it(tmp_path):
    """ReFrame itself reads it: ACL can be negative, less is better, and bounds are fractions of the absolute value. By
    hand: -0.08 is above the median by 0.02, and the others by 0.01 at most; so 2 times 0.02 is allowed."""
    numbers = [-0.10, -0.08, -0.12, -0.09, -0.11, -0.10, -0.10]
    values = values_of(tmp_path, nights(numbers, metric="acl", unit="1", benchmark="priomark"))
    [row] = entries(values, Terms(min_sessions=2, valid_from="2026-01-01")).itertuples()
    assert (row.value, row.upper) == (pytest.approx(-0.10), pytest.approx(0.4)) and isnan(row.lower)
    for inside in (-0.1999, -0.0601):
        assert evaluate(assert_reference(inside, row.value, None, row.upper))
    with pytest.raises(Exception, match="beyond reference"):
        evaluate(assert_reference(-0.0599, row.value, None, row.upper))

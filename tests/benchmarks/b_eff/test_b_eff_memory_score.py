# SPDX-License-Identifier: Apache-2.0
"""Scores of b_eff in several kinds of memory: the log of a kernel, whose values are computed here over its plain
records."""

import copy
import re
from dataclasses import replace
from statistics import geometric_mean
from typing import get_args

import logs_made
import pytest
from mutator import kernel_log
from scores import values

from coffeecup.postprocess.benchmarks.b_eff.figures import figures
from coffeecup.postprocess.benchmarks.b_eff.memory.records import Kind
from coffeecup.postprocess.benchmarks.b_eff.memory.rules import is_listed
from coffeecup.postprocess.benchmarks.b_eff.nodes.records import Pair
from coffeecup.postprocess.benchmarks.b_eff.reduction import measurement_table
from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.registry import benchmarks, metric_kind
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.reports import page

AVERAGED = ("ring", "random")


@pytest.fixture(scope="module")
def sound():
    """Records that no test changes."""
    return kernel_log("b_eff-memory")


@pytest.fixture
def records(sound):
    return copy.deepcopy(sound)


@pytest.fixture(scope="module")
def score(sound, tmp_path_factory):
    return score_of(tmp_path_factory.mktemp("log"), sound)


def score_of(folder, records):
    return score_log(logs_made.write(folder / "log.jsonl", records))


def by_hand(records, kind):
    """b_eff, and bandwidth and latency of the ping-pong, of the patterns whose names end with a kind."""
    planned = {entry["name"]: entry for entry in records[1]["patterns"] if entry["memory"] == kind}
    best, latency, short = {}, [], []  # loops of 1 byte count where no loops for latencies were in time
    for record in records:
        if record["record"] in ("measurement", "latency") and record["pattern"] in planned:
            entry, seconds = planned[record["pattern"]], record["elapsed_seconds"] / record["loop_length"]
            if record["record"] == "latency":
                latency += [seconds * 1e6 / 2] * (entry["group"] == "ping_pong")
                continue
            key = record["pattern"], record["message_bytes"]
            short += [seconds * 1e6 / 2] * (entry["group"] == "ping_pong" and record["message_bytes"] == 1)
            rate = record["message_bytes"] * entry["messages_per_exchange"] / seconds / 1e6
            best[key] = max(best.get(key, 0.0), rate)
    lengths = records[1]["message_bytes"]
    groups = [[name for name, entry in planned.items() if entry["group"] == group] for group in AVERAGED]
    means = [[sum(best[name, length] for length in lengths) / 21 for name in names] for names in groups]
    [ping_pong] = [name for name, entry in planned.items() if entry["group"] == "ping_pong"]
    effective = geometric_mean(map(geometric_mean, means)) if all(means) else None
    return effective, best[ping_pong, lengths[-1]], min(latency or short)


@pytest.mark.parametrize(
    ("suffix", "memory"), [("", ["host", "host"]), ("_cuda", ["cuda", "cuda"]), ("_host_cuda", ["host", "cuda"])]
)
def test_metrics_are_those_of_one_kind(sound, score, suffix, memory):
    found, (effective, bandwidth, latency) = values(score), by_hand(sound, memory)
    assert found.get(f"b_eff{suffix}") == (effective and pytest.approx(effective, rel=1e-12))
    assert found[f"ping_pong_bandwidth{suffix}"] == pytest.approx(bandwidth, rel=1e-12)
    assert found[f"ping_pong_latency{suffix}"] == pytest.approx(latency, rel=1e-12)


def test_slower_device_memory_changes_no_metric_of_the_host(tmp_path, records, score):
    for record in records:
        if record["record"] in ("measurement", "latency", "trial") and record["pattern"].endswith("-cuda"):
            for field in ("elapsed_seconds", "fastest_seconds", "slowest_message_seconds"):
                record[field] *= 1.25
    before, after = values(score), values(score_of(tmp_path, records))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if name.endswith("_cuda") and name != "l_max_cuda"}
    assert after["b_eff_cuda"] == pytest.approx(before["b_eff_cuda"] / 1.25)


def test_total_memory_is_that_of_the_kind(sound, score):
    found = values(score)
    host, cuda = [entry["memory_per_process_bytes"] for entry in sound[1]["memory"]]
    for suffix, each in (("", host), ("_cuda", cuda)):
        seconds = 5 * each / (found[f"b_eff{suffix}"] * 1e6)
        assert found[f"time_to_communicate_total_memory{suffix}"] == pytest.approx(seconds)


def test_host_of_which_l_max_would_be_longer_is_not_official(score):
    [breach] = [breach for breach in score.breaches if breach.key == "l_max_of_other_memory"]
    assert "64 KiB in all kinds of memory, where the rule is 62.8 MiB in host memory" in breach.text


def test_every_metric_of_a_kind_has_its_unit_and_direction():
    """By which references, contracts and the history judge it."""
    b_eff = benchmarks()["b_eff"]
    for suffix in ("cuda", "cuda_managed", "hip", "hip_managed", "level_zero", "level_zero_shared"):
        for metric in b_eff.metrics:
            found = b_eff.metric(f"{metric.name}_{suffix}")
            assert (found.unit, found.better) == (metric.unit, metric.better)
    assert metric_kind("b_eff", "ping_pong_latency_host_level_zero").better is Better.LOWER
    with pytest.raises(KeyError):
        b_eff.metric("b_eff_host")


@pytest.mark.slow
def test_report_shows_kinds_side_by_side_with_their_ratio(score):
    text = page.html(page.items([score.log.path]))
    table = text.split('<h3 id="log-1-memory">')[1].split("</table>")[0]
    heads = [re.sub("<.*?>", "", head) for head in re.findall(r"<th scope=\"col\".*?</th>", table)]
    assert heads == ["Metric", "Unit", "host", "cuda", "cuda / host"]
    row = re.findall(r"<t[hd].*?>(.*?)</t[hd]>", table.split("<tbody>")[1])[:5]
    found = values(score)
    assert row[0] == "b_eff" and row[-1] == f"{found['b_eff_cuda'] / found['b_eff']:.2f}"


def test_the_pairs_of_nodes_are_drawn_once_and_not_for_each_kind(score):
    """They are measured in the first kind."""
    log = read_log(score.log.path)
    pair = Pair(sequence=900, message_bytes=1024, loop_length=1, partners=[1, 0], seconds=[1.0, 1.0], round=0)
    log = replace(log, by_class={**log.by_class, Pair: [pair]})
    names = [figure.name for figure in figures(log, measurement_table([log]))]
    assert [name for name in names if name.startswith("pairs")] == ["pairs"]
    assert {"placement", "placement_cuda"} <= set(names)


@pytest.mark.parametrize(
    ("stated", "listed"),
    [
        ("mpi,system,cuda", {"cuda", "cuda-managed"}),
        ("system,cuda:device", {"cuda"}),
        ("cuda:host:managed", {"cuda-managed"}),
        ("mpi,system", set()),
        ("rocm:device", {"hip"}),
        ("hip:device", set()),
        ("level_zero:shared", {"level-zero-shared"}),
    ],
)
def test_memory_kinds_that_an_mpi_4_1_library_lists(stated, listed):
    """MPI_INFO mpi_memory_alloc_kinds: a name without restrictors stands for all memory of its kind (MPI Memory
    Allocation Kinds Side Document 1.0)."""
    assert {kind for kind in get_args(Kind) if kind != "host" and is_listed(stated, kind)} == listed


def test_device_memory_that_the_library_lists_or_answers_for_is_supported(tmp_path, records):
    assert not records[0]["options"].get("memory-anyway")
    memory = records[1]["memory"][1]
    for kinds, answer in (("system,cuda:device", None), (None, True)):
        asked = {"mpi_memory_alloc_kinds": kinds, "MPIX_Query_cuda_support": answer, "ucp_context_query": None}
        memory |= {"asked": asked, "supported": True}
        assert "b_eff_cuda" in values(score_of(tmp_path, records))

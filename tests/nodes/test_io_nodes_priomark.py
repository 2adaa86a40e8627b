# SPDX-License-Identifier: Apache-2.0
"""A node with slow I/O is named from PRIOMark's cases, and no other: made logs of which the slow node is known."""

import logs_made
import pytest
from logs_made import KIB, MIB
from logs_made_priomark import priomark_log

from coffeecup.postprocess.benchmarks.nodes import Verdict
from coffeecup.postprocess.benchmarks.scoring import score_log

SLOW = 5
SHAPE = {"ranks": 16, "nodes": 8, "process_bytes": (256 * MIB,), "block_bytes": (256 * KIB,), "repetitions": 3}


def examined(tmp_path, speed, benchmarks=("common_file", "single_file")):
    records = priomark_log(speed=speed, benchmarks=benchmarks, **SHAPE)
    score = score_log(logs_made.write(tmp_path / "priomark.jsonl", records))
    return score.nodes, score.log.run.hosts[SLOW].name


@pytest.mark.parametrize(("share", "verdict"), [(0.94, Verdict.SUSPECTS), (0.96, Verdict.NONE)])
def test_a_node_below_95_percent_of_its_peers_is_named(tmp_path, share, verdict):
    """By hand: 3 repetitions of 3 patterns by 3 methods that are not collective on the common file, of which none only
    reads, and of 3 patterns on own files; the fourth one only reads."""
    found, slow = examined(tmp_path, lambda node, case: share if node == SLOW else 1.0)
    assert found.verdict == verdict and list(found.named["node"]) == [slow] * (verdict == Verdict.SUSPECTS)
    assert set(found.nodes["examined"]) == {36} and set(found.nodes["units"]) == {"writes"}
    assert any("too few reads" in remark for remark in found.remarks), "three"


@pytest.mark.parametrize("what", ["collective", "async"])
def test_what_is_slow_elsewhere_is_not_held_against_the_node(tmp_path, what):
    """Collective calls wait for the slowest process, and beside a calculation the processor counts as well."""

    def speed(node, case):
        return 0.5 if node == SLOW and what in f"{case['benchmark']} {case['method']}" else 1.0

    found, _ = examined(tmp_path, speed, ("common_file", "async", "single_file"))
    assert found.verdict == Verdict.NONE and found.nodes["slow"].max() == 0


def test_the_sync_of_a_shared_file_does_not_count(tmp_path):
    """The record's whole time is stretched where the node is slow, its accesses are not: only for own files."""
    records = priomark_log(speed=lambda node, case: 1.0, benchmarks=("common_file",), **SHAPE)
    for measured, times in zip(
        logs_made.of_kind(records, "measurement"), logs_made.of_kind(records, "process_times"), strict=True
    ):
        place = slice(2 * SLOW, 2 * SLOW + 2)
        times["elapsed_seconds"][place] = [0.1 * seconds for seconds in times["elapsed_seconds"][place]]
        measured["fastest_seconds"] = min(times["elapsed_seconds"])
    found = score_log(logs_made.write(tmp_path / "priomark.jsonl", records)).nodes
    assert found.verdict == Verdict.NONE and set(found.nodes["ratio"]) == {1.0}

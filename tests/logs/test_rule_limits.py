# SPDX-License-Identifier: Apache-2.0
"""Limits of the rules that a log must keep, from both sides with literals: the last log that is accepted, and the next
one that is refused with the name of its invariant. They are in limits.txt; here are those that a text cannot state.
test_contradictions.py breaks every invariant by far, test_b_eff_rules.py and others have those of single records."""

import copy

import logs_made
import pytest
from contradictions import made, stated
from edits import edit
from logs_made import first, of_kind

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.rules import count_cores, same


def refusal(tmp_path, records):
    """The invariant that a log does not keep, None if it has a score."""
    [score] = score_logs([logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))])
    return None if isinstance(score, Score) else str(score).rpartition("[")[2].rstrip("]")


def whole(factor, *kinds):
    """The run took so much of the time in these records."""

    def change(r):
        seconds = sum(record["elapsed_seconds"] for record in r if record["record"] in kinds)
        logs_made.ended(r, factor * seconds)

    return change


def loops(longest, latency):
    """The plan's longest loop, and the length of the loops of latencies."""

    def change(r):
        r[1]["longest_loop_length"] = longest
        for record in of_kind(r, "latency"):
            record["loop_length"] = latency

    return change


def agreed(per_access, less):
    """Agreements of all patterns that have some: as many as the calls and one more; of the first, `less` fewer."""

    def change(r):
        r[1]["termination"] = "per-access" if per_access else "geometric"
        agreeing = [record for record in of_kind(r, "measurement") if record["agreements"]]
        for record in agreeing:
            record["agreements"] = record["calls_max"] + 1
        agreeing[0]["agreements"] -= less

    return change


def parts_and(seconds):
    """A written pattern takes 5 % and so many seconds longer than its parts, which are 99 % of what it took; and with
    it its type and the run."""

    def change(r):
        entry = first(r, record="measurement", pattern=3)
        longer = (0.99 * 1.05 - 1) * entry["elapsed_seconds"] + seconds
        for record in (entry, first(r, record="pattern_type", type="scatter"), r[-1]):
            record["elapsed_seconds"] += longer

    return change


PARTS = {"b_eff": ("measurement", "latency", "trial"), "b_eff_io": ("pattern_type",)}

# Invariant, log, the change that is accepted, and the one that is refused.
BY_HAND = [
    *(("whole_time", log, whole(1 + 1e-9, *kinds), whole(1 - 1e-9, *kinds)) for log, kinds in PARTS.items()),
    ("loop_length", "b_eff", loops(10001, 10000), loops(10001, 10001)),
    ("loop_length", "b_eff", loops(9999, 9999), loops(9999, 10000)),
    ("loop_length", "b_eff", loops(9999, 9999), loops(9999, 9998)),
    ("agreements", "b_eff_io", agreed(False, 0), agreed(False, -1)),
    ("agreements", "b_eff_io", agreed(True, 0), agreed(True, 1)),
    ("agreements", "b_eff_io", agreed(True, 0), agreed(True, -1)),
    ("whole", "b_eff_io", parts_and(4.999), parts_and(5.001)),
]


def limits():
    """A line of limits.txt has a change with {} for a value, and after "=>" the one that is accepted | the other."""
    for log, name, change, values in stated("limits.txt"):
        yield name, log, *(edit(change.replace("{}", value)) for value in values.split(" | "))
    yield from BY_HAND


@pytest.mark.parametrize(
    ("name", "log", "accepted", "refused"),
    [pytest.param(*case, id=f"{case[1]}-{case[0]}-{number}") for number, case in enumerate(limits())],
)
def test_a_limit_from_both_sides(tmp_path, name, log, accepted, refused):
    fine, wrong = (copy.deepcopy(made()[log]) for _ in range(2))
    accepted(fine)
    assert refusal(tmp_path, fine) is None
    refused(wrong)
    assert refusal(tmp_path, wrong) == name


# --- numbers and options ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "cores"),
    [
        *(([], 0), ([""], 0), (["5"], 1), (["0-3,8"], 5), (["0-3", "2-5"], 6), (["0-3", "4"], 5), (["4", "0-3"], 5)),
        *((["0-9", "2-3"], 10), (["0-1", "0-1", "7"], 3), (["0-999999999999"], 10**12)),
    ],
)
def test_cores_are_counted_once(sets, cores):
    assert count_cores(sets) == cores


@pytest.mark.parametrize(
    ("stated", "planned", "equal"),
    [(1, 1, True), (1, 1.0, True), (1, 2, False), (True, 1, False), (1, True, False), (True, True, True)],
)
def test_an_option_and_the_plan_agree_by_value_and_a_flag_is_no_number(stated, planned, equal):
    assert same(stated, planned) is equal

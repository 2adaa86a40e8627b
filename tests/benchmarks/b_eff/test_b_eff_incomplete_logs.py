# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff in which something is missing: what is said of those that yield no score, and what a time budget
excuses. test_contradictions.py breaks each invariant."""

import copy

import logs_made
import pytest
from logs_made import MIB, first
from logs_made_b_eff import AVERAGED, b_eff_log, budget, loops_of, reduced, stopped_log
from scores import keys


def test_log_whose_received_bytes_contradict_its_loops_yields_no_score(scored):
    sound = b_eff_log(ranks=16, methods=AVERAGED)
    received = int(first(sound, record="data_check")["received_bytes"])
    assert scored(sound).metrics["b_eff"].value > 0
    for wrong in (received - 1, received + 1):
        records = copy.deepcopy(sound)
        first(records, record="data_check").update(received_bytes=wrong, checked_bytes=0)
        assert f"received_bytes is {wrong} where {received} belongs" in scored(records)
    first(sound, record="data_check").update(received_bytes=received)
    for record in sound:
        if record["record"] == "measurement":  # ten times the bandwidth
            record["loop_length"] *= 10
    assert f"received_bytes is {received} where" in scored(sound)


def test_a_run_of_some_patterns_is_told_that_it_has_no_b_eff_and_can_be_plotted(scored):
    records = b_eff_log(methods=("sendrecv",), only=lambda name: name == "ping-pong")
    message = scored(records)
    assert "no b_eff: the run planned 0 of the 6 ring patterns" in message and "plotted" in message


def last_loops(records, pattern):
    """Those of the last length in the third repetition."""
    found = loops_of(records, "measurement", pattern)
    return [one for one in found if (one["message_bytes"], one["repetition"]) == (8 * MIB, 3)]


def with_budget(reduced_to, kept=("nonblocking",), pattern="random-30", told=True):
    """A full log whose last length of a pattern was reduced in the third repetition."""
    records = b_eff_log(methods=AVERAGED, only=lambda name: name.startswith(("ring", "random", "worst")))
    left_out = [one for one in last_loops(records, pattern) if one["method"] not in kept]
    if told:
        return reduced(records, left_out, budget(pattern, 8 * MIB, reduced_to, list(kept), repetition=3))
    return logs_made.numbered([record for record in records if record not in left_out])


def test_a_budget_record_excuses_what_it_names(scored):
    score = scored(with_budget("best_method"))
    assert score.official
    [told] = [q.text for q in score.qualifications if q.key == "budget"]
    assert "1 of 2331 combinations of repetition, pattern" in told and "1 of them in patterns that enter b_eff" in told
    assert score.metrics["b_eff"].value == pytest.approx(scored(b_eff_log()).metrics["b_eff"].value)  # it kept the best


def test_a_repetition_that_was_left_out_makes_the_run_not_official(scored):
    score = scored(with_budget("nothing", kept=()))
    assert not score.official and {"measured_seldom", "budget"} <= {q.key for q in score.qualifications}
    assert scored(with_budget("nothing", kept=(), pattern="worst-cycle")).official


def test_repetitions_must_be_those_of_the_budget_record(scored):
    sendrecv = "where measurement (repetition 3, pattern random-30, message_bytes 8388608, method sendrecv) belongs"
    assert sendrecv in scored(with_budget("nothing", kept=(), told=False))
    whole = with_budget("nothing", kept=AVERAGED, told=False)
    told = reduced(whole, [], budget("random-30", 8 * MIB, "nothing", [], repetition=3))
    message = scored(told)
    assert "measurement (repetition 3, pattern random-30, message_bytes 8388608, method sendrecv)" in message
    assert "where measurement (repetition 3, pattern worst-cycle, message_bytes 1, method sendrecv) belongs" in message


def test_a_budget_record_with_other_methods_than_it_says_is_refused_by_its_line(scored):
    records = with_budget("best_method", kept=("sendrecv", "nonblocking"))
    line = records.index(first(records, record="budget")) + 1
    text = f"line {line}, budget (repetition 3, pattern random-30, message_bytes {8 * MIB}) breaks the rule that"
    assert text in scored(records)


def test_budget_records_whose_time_goes_back_are_refused_by_the_line_of_the_second(scored):
    records = with_budget("best_method", pattern="worst-cycle")
    left_out = [one for one in last_loops(records, "random-30") if one["method"] != "nonblocking"]
    earlier = budget("random-30", 8 * MIB, "best_method", ["nonblocking"], repetition=3)
    assert scored(reduced(records, left_out, earlier)).official
    records = reduced(records, left_out, earlier | {"elapsed_seconds": 100.5})
    line = records.index(first(records, record="budget", pattern="worst-cycle")) + 1
    assert f"line {line}, budget (" in scored(records) and "do not decrease" in scored(records)


def test_a_run_that_was_stopped_has_a_score_if_its_averaged_patterns_were_measured(scored):
    score = scored(stopped_log(1, "worst-cycle"))
    assert not score.official and {"measured_seldom", "stopped"} <= set(keys(score))
    late = stopped_log(2, "ring-2")
    late[-1]["elapsed_seconds"] = 500.0  # from when the log was opened; the stop, from when the processes began
    texts = {qualification.key: qualification.text for qualification in scored(late).qualifications}
    assert "stopped after 525 s" in texts["stopped"] and "took 525 s" in texts["over_budget"]
    assert scored(stopped_log(2, "ring-2")).metrics["b_eff"].value > 0
    message = scored(stopped_log(1, "random-30", 530.2))
    assert "a time budget of about 531 s is needed here: with 300 s the run was stopped" in message
    assert "15 of 756 combinations" in message and "choose a larger --time-budget" in message


def test_a_run_without_any_averaged_method_states_which_ones_to_choose(scored):
    message = scored(b_eff_log(methods=("neighbor",), only=lambda name: name.startswith(("ring", "random"))))
    assert "none of the averaged methods; choose at least one of --methods alltoallv,nonblocking,sendrecv" in message


@pytest.mark.parametrize(
    ("repetition", "pattern", "needed"), [(1, "random-30", None), (1, "worst-cycle", 530.0), (2, "random-30", 530.0)]
)
def test_a_stop_states_the_budget_that_a_score_needs_where_one_is_out_of_reach_and_nowhere_else(
    scored, repetition, pattern, needed
):
    message = scored(stopped_log(repetition, pattern, needed))
    assert "`needed_budget_seconds` is there in an averaged pattern of the first repetition" in message

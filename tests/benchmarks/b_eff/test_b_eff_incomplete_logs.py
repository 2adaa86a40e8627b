# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff in which something is missing: which of them yield no score, and what a time budget excuses."""

import copy

import logs_made
import pytest
from logs_made import MIB, first
from logs_made_b_eff import AVERAGED, averaged_log, b_eff_log, budget, loops_of, reduced, stopped_log
from scores import keys


def broken(change):
    """The records of a complete log after `change(run, plan, records)`, which may return other records."""
    records = copy.deepcopy(averaged_log(repetitions=3))
    changed = change(records[0], records[1], records)
    is_log = isinstance(changed, list) and changed[0] is records[0]
    return logs_made.numbered(changed if is_log else records)


def without(predicate):
    return lambda run, plan, records: [record for record in records if not predicate(record)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda run, plan, r: first(r, record="activity")["hosts"].__delitem__(0),
            "the activity of 1 hosts, where 2 belong",
        ),
        (
            without(lambda r: r.get("pattern") == "ring-3" and r["message_bytes"] == 64),
            "where the measurement of ring-3 at 64 byte with nonblocking in repetition 1 belongs",
        ),
        (
            without(lambda r: r["record"] == "measurement" and r["pattern"] == "ping-pong" and r["message_bytes"] == 1),
            "where the measurement of ping-pong at 1 byte with blocking in repetition 1 belongs",
        ),
        (
            without(lambda r: r["record"] == "measurement"),
            "where the measurement of ring-1 at 1 byte with nonblocking in repetition 1 belongs",
        ),
        (without(lambda r: r["record"] == "data_check"), "0 data_check records"),
        (without(lambda r: r["record"] == "overhead"), "0 overhead records"),
        (lambda run, plan, r: [*r[:-5], first(r, record="measurement"), *r[-5:]], "which was not planned"),
        (lambda run, plan, r: plan["patterns"].pop(2), "planned 5 of the 6 ring patterns"),
        (lambda run, plan, r: plan["patterns"].__delitem__(slice(10, None)), "planned 4 of the 30 random patterns"),
        (lambda run, plan, r: plan["patterns"].append(plan["patterns"][0]), "ring-1 is planned twice"),
        (lambda run, plan, r: plan["patterns"][-1].update(averaged=True), "ping-pong is planned as averaged"),
        (lambda run, plan, r: plan["patterns"][0].update(averaged=False), "ring-1 is planned as not averaged"),
        (lambda run, plan, r: plan["patterns"][0].update(name="ring-7"), "not ring-1 to ring-6"),
        (
            lambda run, plan, r: plan["patterns"][0].update(messages_per_exchange=32),
            "ring-1 counts 32 messages per exchange where 16 belong",
        ),
        (
            lambda run, plan, r: plan["patterns"][9].update(messages_per_exchange=64),
            "random-04 counts 64 messages per exchange where 32 belong",
        ),
        (lambda run, plan, r: plan["patterns"][1].update(rings=[{"size": 8, "count": 2}]), "rings of ring-2"),
        (lambda run, plan, r: plan["patterns"][1].update(rings=None), "rings of ring-2"),
        (lambda run, plan, r: plan["patterns"][8].update(processes=8), "random-03 has 8 processes where 16 belong"),
        (lambda run, plan, r: plan["patterns"][8].update(methods=["magic"]), "random-03 is to run with magic"),
        (lambda run, plan, r: plan["methods"][0].update(averaged=False), "nonblocking is planned as not averaged"),
        (lambda run, plan, r: plan["methods"][1].update(averaged=True), "blocking is planned as averaged"),
        (lambda run, plan, r: plan["message_bytes"].__setitem__(15, 71000), "not the paper's 21"),
        (lambda run, plan, r: plan["message_bytes"].__setitem__(3, 7), "not the paper's 21"),
        (lambda run, plan, r: plan["message_bytes"].pop(), "not the paper's 21"),
        (lambda run, plan, r: plan.update(l_max_bytes=2**24), "not the paper's 21"),
        (lambda run, plan, r: plan.update(repetitions=4), "the probe before repetition 4 was planned but not measured"),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(repetition=4),
            "where the measurement of random-09 at 1 byte with nonblocking in repetition 1 belongs",
        ),
        (
            lambda run, plan, r: [m.update(pattern="surprise") for m in loops_of(r, "measurement", "random-09")],
            "where the measurement of random-09 at 1 byte with nonblocking in repetition 1 belongs",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(pattern="surprise"),
            "has the measurement of surprise at 1 byte with nonblocking in repetition 1, where the measurement of",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(fastest_seconds=9.0),
            "slowest process was faster",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(
                elapsed_seconds=1e-300, fastest_seconds=0, slowest_message_seconds=5e-301
            ),
            "nanosecond",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(
                elapsed_seconds=1e5, slowest_message_seconds=5e4
            ),
            "timed parts sum up to",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(pattern="surprise"),
            "has the latency of surprise at 1 byte with nonblocking in repetition 1, where the latency of ring-1 at",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(pattern="random-09"),
            "has the latency of random-09 at 1 byte with nonblocking in repetition 1",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(message_bytes=2),
            "has the latency of ring-1 at 2 byte with nonblocking in repetition 1",
        ),
        (lambda run, plan, r: first(r, record="latency").update(elapsed_seconds=9e-10), "[shortest]"),
        (lambda run, plan, r: first(r, record="latency").update(fastest_seconds=9.0), "[fastest]"),
        (lambda run, plan, r: first(r, record="data_check").update(wrong_bytes=2), "2 bytes were received wrong"),
        (
            lambda run, plan, r: first(r, record="data_check").update(received_bytes=0),
            "0 bytes were received, but the loops",
        ),
        (lambda run, plan, r: run["hosts"][1].update(ranks=[0], core_sets=["0-127"]), "hosts' ranks are not 0 to 15"),
        (lambda run, plan, r: run["hosts"][0]["ranks"].__setitem__(0, 9), "hosts' ranks are not 0 to 15"),
        (lambda run, plan, r: run.update(ranks=1), "needs at least two processes"),
    ],
)
def test_log_that_is_not_complete_yields_no_score(scored, change, says):
    assert says in scored(broken(change))


def test_log_whose_received_bytes_contradict_its_loops_yields_no_score(scored):
    sound = b_eff_log(ranks=16, methods=AVERAGED)
    received = int(first(sound, record="data_check")["received_bytes"])
    assert scored(sound).metrics["b_eff"].value > 0
    for wrong in (received - 1, received + 1):
        records = copy.deepcopy(sound)
        first(records, record="data_check").update(received_bytes=wrong, checked_bytes=0)
        assert f"{wrong} bytes were received, but the loops in the log exchanged {received}" in scored(records)
    first(sound, record="data_check").update(received_bytes=received)
    for record in sound:
        if record["record"] == "measurement":  # ten times the bandwidth
            record["loop_length"] *= 10
    assert f"{received} bytes were received, but" in scored(sound)


def test_a_run_of_some_patterns_is_told_that_it_has_no_b_eff_and_can_be_plotted(scored):
    records = b_eff_log(methods=("sendrecv",), only=lambda name: name == "ping-pong")
    message = scored(records)
    assert "no b_eff: the run planned 0 of the 6 ring patterns" in message and "plotted" in message


def with_budget(reduced_to, kept=("nonblocking",), pattern="random-30", told=True):
    """A full log whose last length of a pattern was reduced in the third repetition."""
    records = b_eff_log(methods=AVERAGED, only=lambda name: name.startswith(("ring", "random", "worst")))
    left_out = [
        record
        for record in loops_of(records, "measurement", pattern)
        if record["message_bytes"] == 8 * MIB and record["repetition"] == 3 and record["method"] not in kept
    ]
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
    sendrecv = "where the measurement of random-30 at 8388608 byte with sendrecv in repetition 3 belongs"
    assert sendrecv in scored(with_budget("nothing", kept=(), told=False))
    whole = with_budget("nothing", kept=AVERAGED, told=False)
    told = reduced(whole, [], budget("random-30", 8 * MIB, "nothing", [], repetition=3))
    message = scored(told)
    assert "has the measurement of random-30 at 8388608 byte with sendrecv in repetition 3" in message
    assert "where the measurement of worst-cycle at 1 byte with sendrecv in repetition 3 belongs" in message


def test_a_budget_record_with_other_methods_than_it_says_is_refused_by_its_line(scored):
    records = with_budget("best_method", kept=("sendrecv", "nonblocking"))
    line = records.index(first(records, record="budget")) + 1
    text = f"line {line}: the budget leaves sendrecv, nonblocking of random-30, which is not what best_method means"
    assert text in scored(records)


def test_budget_records_whose_time_goes_back_are_refused_by_the_line_of_the_second(scored):
    records = with_budget("best_method", pattern="worst-cycle")
    left_out = [
        loop
        for loop in loops_of(records, "measurement", "random-30")
        if (loop["repetition"], loop["message_bytes"]) == (3, 8 * MIB) and loop["method"] != "nonblocking"
    ]
    earlier = budget("random-30", 8 * MIB, "best_method", ["nonblocking"], repetition=3)
    assert scored(reduced(records, left_out, earlier)).official
    records = reduced(records, left_out, earlier | {"elapsed_seconds": 100.5})
    line = records.index(first(records, record="budget", pattern="worst-cycle")) + 1
    assert f"line {line}: the run's time went back" in scored(records)


def test_a_run_that_was_stopped_has_a_score_if_its_averaged_patterns_were_measured(scored):
    score = scored(stopped_log(1, "worst-cycle"))
    assert not score.official and {"measured_seldom", "stopped"} <= set(keys(score))
    assert scored(stopped_log(2, "ring-2")).metrics["b_eff"].value > 0
    message = scored(stopped_log(1, "random-30", 530.2))
    assert "a time budget of about 531 s is needed here: with 300 s the run was stopped" in message
    assert "15 of 756 combinations" in message and "choose a larger --time-budget" in message


@pytest.mark.parametrize(
    ("repetition", "pattern", "needed"), [(1, "random-30", None), (1, "worst-cycle", 530.0), (2, "random-30", 530.0)]
)
def test_a_stop_states_the_budget_that_a_score_needs_where_one_is_out_of_reach_and_nowhere_else(
    scored, repetition, pattern, needed
):
    message = scored(stopped_log(repetition, pattern, needed))
    assert "a stop has a needed time budget in an averaged pattern of the first repetition, and nowhere else" in message


def test_a_budget_that_leaves_no_averaged_method_yields_no_score(scored):
    records = b_eff_log(methods=("sendrecv", "neighbor"), only=lambda name: name.startswith(("ring", "random")))
    for repetition in (1, 2, 3):
        left_out = [
            loop
            for loop in loops_of(records, "measurement", "ring-2")
            if (loop["repetition"], loop["message_bytes"], loop["method"]) == (repetition, 4096, "sendrecv")
        ]
        records = reduced(records, left_out, budget("ring-2", 4096, "best_method", ["neighbor"], repetition))
    assert "ring-2 at 4096 byte was measured with none of the averaged methods" in scored(logs_made.numbered(records))

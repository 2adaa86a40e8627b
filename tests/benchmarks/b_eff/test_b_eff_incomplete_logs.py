# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff in which something is missing: which of them yield no score, and what a time budget excuses."""

import copy

import logs_made
import pytest
from contradictions import gone, pattern, put, where
from logs_made import MIB, first
from logs_made_b_eff import AVERAGED, averaged_log, b_eff_log, budget, loops_of, reduced, stopped_log
from scores import keys

SOUND = averaged_log(repetitions=3)


def loop(**fields):
    """Changes the first loop of a random pattern."""
    return where("measurement", fields, pattern="random-09")


def without(chosen):
    return lambda r: [r.remove(record) for record in r[:] if chosen(record)]


def measured(pattern, length=None):
    return lambda r: r["record"] == "measurement" and r["pattern"] == pattern and length in (None, r["message_bytes"])


def lengths(change):
    return lambda r: change(r[1]["message_bytes"])


def patterns(change):
    return lambda r: change(r[1]["patterns"])


BELONGS = "where the measurement of {} with {} in repetition 1 belongs"
LATENCY = "has the latency of {} with nonblocking in repetition 1"
INCOMPLETE = [
    (lambda r: first(r, record="activity")["hosts"].pop(), "the activity of 1 hosts, where 2 belong"),
    (without(measured("ring-3", 64)), BELONGS.format("ring-3 at 64 byte", "nonblocking")),
    (without(measured("ping-pong", 1)), BELONGS.format("ping-pong at 1 byte", "blocking")),
    (without(lambda r: r["record"] == "measurement"), BELONGS.format("ring-1 at 1 byte", "nonblocking")),
    (gone("data_check"), "0 data_check records"),
    (gone("overhead"), "0 overhead records"),
    (lambda r: r.insert(-5, first(r, record="measurement")), "which was not planned"),
    (patterns(lambda p: p.pop(2)), "planned 5 of the 6 ring patterns"),
    (patterns(lambda p: p.__delitem__(slice(10, None))), "planned 4 of the 30 random patterns"),
    (patterns(lambda p: p.append(p[0])), "ring-1 is planned twice"),
    (pattern("ping-pong", averaged=True), "ping-pong is planned as averaged"),
    (pattern("ring-1", averaged=False), "ring-1 is planned as not averaged"),
    (pattern("ring-1", name="ring-7"), "not ring-1 to ring-6"),
    (pattern("ring-1", messages_per_exchange=32), "ring-1 counts 32 messages per exchange where 16 belong"),
    (pattern("random-04", messages_per_exchange=64), "random-04 counts 64 messages per exchange where 32 belong"),
    (pattern("ring-2", rings=[{"size": 8, "count": 2}]), "rings of ring-2"),
    (pattern("ring-2", rings=None), "rings of ring-2"),
    (pattern("random-03", processes=8), "random-03 has 8 processes where 16 belong"),
    (pattern("random-03", methods=["magic"]), "random-03 is to run with magic"),
    (lambda r: r[1]["methods"][0].update(averaged=False), "nonblocking is planned as not averaged"),
    (lambda r: r[1]["methods"][1].update(averaged=True), "blocking is planned as averaged"),
    (lengths(lambda all_: all_.__setitem__(15, 71000)), "not the paper's 21"),
    (lengths(lambda all_: all_.__setitem__(3, 7)), "not the paper's 21"),
    (lengths(lambda all_: all_.pop()), "not the paper's 21"),
    (put("plan", l_max_bytes=2**24), "not the paper's 21"),
    (put("plan", repetitions=4), "the probe before repetition 4 was planned but not measured"),
    (loop(repetition=4), BELONGS.format("random-09 at 1 byte", "nonblocking")),
    (
        lambda r: [m.update(pattern="surprise") for m in loops_of(r, "measurement", "random-09")],
        BELONGS.format("random-09 at 1 byte", "nonblocking"),
    ),
    (
        loop(pattern="surprise"),
        "has the measurement of surprise at 1 byte with nonblocking in repetition 1, where the measurement of",
    ),
    (loop(fastest_seconds=9.0), "slowest process was faster"),
    (loop(elapsed_seconds=1e-300, fastest_seconds=0, slowest_message_seconds=5e-301), "nanosecond"),
    (loop(elapsed_seconds=1e5, slowest_message_seconds=5e4), "timed parts sum up to"),
    (put("latency", pattern="surprise"), LATENCY.format("surprise at 1 byte") + ", where the latency of ring-1 at"),
    (put("latency", pattern="random-09"), LATENCY.format("random-09 at 1 byte")),
    (put("latency", message_bytes=2), LATENCY.format("ring-1 at 2 byte")),
    (put("latency", elapsed_seconds=9e-10), "[shortest]"),
    (put("latency", fastest_seconds=9.0), "[fastest]"),
    (put("data_check", wrong_bytes=2), "2 bytes were received wrong"),
    (put("data_check", received_bytes=0), "0 bytes were received, but the loops"),
    (lambda r: r[0]["hosts"][1].update(ranks=[0], core_sets=["0-127"]), "hosts' ranks are not 0 to 15"),
    (lambda r: r[0]["hosts"][0]["ranks"].__setitem__(0, 9), "hosts' ranks are not 0 to 15"),
    (put("run", ranks=1), "needs at least two processes"),
]


@pytest.mark.parametrize(("change", "says"), INCOMPLETE)
def test_log_that_is_not_complete_yields_no_score(scored, change, says):
    records = copy.deepcopy(SOUND)
    change(records)
    assert says in scored(logs_made.numbered(records))


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
    left_out = [one for one in last_loops(records, "random-30") if one["method"] != "nonblocking"]
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
        place = {"record": "measurement", "pattern": "ring-2", "message_bytes": 4096, "method": "sendrecv"}
        left_out = [first(records, **place, repetition=repetition)]
        records = reduced(records, left_out, budget("ring-2", 4096, "best_method", ["neighbor"], repetition))
    assert "ring-2 at 4096 byte was measured with none of the averaged methods" in scored(logs_made.numbered(records))

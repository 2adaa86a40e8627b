# SPDX-License-Identifier: Apache-2.0
"""Logs of b_eff in which something is missing: which of them yield no score, and what a time budget excuses."""

import copy

import logs_made
import pytest
from logs_made import MIB, first
from logs_made_b_eff import AVERAGED, averaged_log, b_eff_log, budget, loops_of
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
            "1 activity records with 1 hosts, where one with 2 belongs",
        ),
        (
            without(lambda r: r.get("pattern") == "ring-3" and r["message_bytes"] == 64),
            "ring-3 at 64 byte with nonblocking was planned",
        ),
        (
            without(lambda r: r["record"] == "measurement" and r["pattern"] == "ping-pong" and r["message_bytes"] == 1),
            "ping-pong at 1 byte with blocking was planned",
        ),
        (without(lambda r: r["record"] == "measurement"), "was planned but not measured"),
        (without(lambda r: r["record"] == "data_check"), "0 data_check records"),
        (without(lambda r: r["record"] == "overhead"), "0 overhead records"),
        (lambda run, plan, r: [*r[:-2], first(r, record="measurement"), *r[-2:]], "measured more than once"),
        (lambda run, plan, r: plan["patterns"].pop(3), "planned 5 of the 6 ring patterns"),
        (lambda run, plan, r: plan["patterns"].__delitem__(slice(10, None)), "planned 3 of the 30 random patterns"),
        (lambda run, plan, r: plan["patterns"].append(plan["patterns"][0]), "ping-pong is planned twice"),
        (lambda run, plan, r: plan["patterns"][0].update(averaged=True), "ping-pong is planned as averaged"),
        (lambda run, plan, r: plan["patterns"][1].update(averaged=False), "ring-1 is planned as not averaged"),
        (lambda run, plan, r: plan["patterns"][1].update(name="ring-7"), "not ring-1 to ring-6"),
        (
            lambda run, plan, r: plan["patterns"][1].update(messages_per_exchange=32),
            "counts 32 messages per exchange, its rings hold 16",
        ),
        (
            lambda run, plan, r: plan["patterns"][9].update(messages_per_exchange=64),
            "counts 64 messages per exchange, its rings hold 32",
        ),
        (lambda run, plan, r: plan["patterns"][2].update(rings=[{"size": 8, "count": 2}]), "rings of ring-2"),
        (lambda run, plan, r: plan["patterns"][2].update(rings=None), "rings of ring-2"),
        (lambda run, plan, r: plan["patterns"][9].update(processes=8), "rings of random-03"),
        (lambda run, plan, r: plan["patterns"][9].update(methods=["magic"]), "random-03 is to run with magic"),
        (lambda run, plan, r: plan["methods"][0].update(averaged=False), "nonblocking is planned as not averaged"),
        (lambda run, plan, r: plan["methods"][1].update(averaged=True), "blocking is planned as averaged"),
        (lambda run, plan, r: plan["message_bytes"].__setitem__(15, 71000), "not the paper's 21"),
        (lambda run, plan, r: plan["message_bytes"].__setitem__(3, 7), "not the paper's 21"),
        (lambda run, plan, r: plan["message_bytes"].pop(), "not the paper's 21"),
        (lambda run, plan, r: plan.update(l_max_bytes=2**24), "not the paper's 21"),
        (lambda run, plan, r: plan.update(repetitions=4), "has 3 of 4 repetitions"),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(repetition=4),
            "has 3 of 3 repetitions",
        ),
        (
            lambda run, plan, r: [m.update(pattern="surprise") for m in loops_of(r, "measurement", "random-09")],
            "planned but not measured",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(pattern="surprise"),
            "surprise at 1 byte with nonblocking was measured but not planned",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(fastest_seconds=9.0),
            "slowest process was faster",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(
                elapsed_seconds=1e-300, fastest_seconds=0
            ),
            "nanosecond",
        ),
        (
            lambda run, plan, r: first(r, pattern="random-09", record="measurement").update(elapsed_seconds=1e5),
            "timed loops sum up to",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(pattern="surprise"),
            "a latency loop of surprise at 1 byte with",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(pattern="random-09"),
            "a latency loop of random-09 at 1 byte with",
        ),
        (
            lambda run, plan, r: first(r, record="latency").update(message_bytes=2),
            "at 2 byte with blocking was measured but not planned",
        ),
        (lambda run, plan, r: first(r, record="latency").update(elapsed_seconds=9e-10), "has an impossible time"),
        (lambda run, plan, r: first(r, record="latency").update(fastest_seconds=9.0), "has an impossible time"),
        (lambda run, plan, r: first(r, record="data_check").update(wrong_bytes=2), "2 bytes were received wrong"),
        (
            lambda run, plan, r: first(r, record="data_check").update(received_bytes=0),
            "more bytes were checked than received",
        ),
        (lambda run, plan, r: run["hosts"][1].update(ranks=[0]), "hosts' ranks are not 0 to 15"),
        (lambda run, plan, r: run["hosts"][0]["ranks"].__setitem__(0, 9), "hosts' ranks are not 0 to 15"),
        (lambda run, plan, r: run.update(ranks=1), "needs at least two processes"),
    ],
)
def test_log_that_is_not_complete_yields_no_score(scored, change, says):
    assert says in scored(broken(change))


@pytest.mark.parametrize("schema_version", [1, 2])
def test_log_whose_received_bytes_contradict_its_loops_yields_no_score(scored, schema_version):
    sound = b_eff_log(ranks=16, methods=AVERAGED, schema_version=schema_version)
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
    kept_records = [record for record in records if record not in left_out]
    if told:
        kept_records.insert(2, budget(pattern, 8 * MIB, reduced_to, list(kept), repetition=3))
    return logs_made.numbered(kept_records)


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
    assert "has 2 of 3 repetitions" in scored(with_budget("nothing", kept=(), told=False))
    assert "has 3 of 2 repetitions" in scored(
        logs_made.numbered(
            [
                *with_budget("nothing", kept=AVERAGED, told=False)[:2],
                budget("random-30", 8 * MIB, "nothing", [], repetition=3),
                *with_budget("nothing", kept=AVERAGED, told=False)[2:],
            ]
        )
    )


def stopped_log(repetition, pattern):
    """A log whose run was stopped at 64 byte of a pattern in a repetition."""
    records = b_eff_log(methods=AVERAGED, only=lambda name: name.startswith(("ring", "random", "worst")))
    loops = [record for record in records if record["record"] == "measurement"]
    at = next(
        place
        for place, loop in enumerate(loops)
        if (loop["repetition"], loop["pattern"], loop["message_bytes"]) == (repetition, pattern, 64)
    )
    kept = [record for record in records if record["record"] != "measurement" or record in loops[:at]]
    stop = {
        "record": "stop",
        "repetition": repetition,
        "pattern": pattern,
        "message_bytes": 64,
        "elapsed_seconds": 525.0,
    }
    return logs_made.numbered([*kept[:-2], stop, *kept[-2:]])


def test_a_run_that_was_stopped_has_a_score_if_its_averaged_patterns_were_measured(scored):
    score = scored(stopped_log(1, "worst-cycle"))
    assert not score.official and {"measured_seldom", "stopped"} <= set(keys(score))
    assert scored(stopped_log(2, "ring-2")).metrics["b_eff"].value > 0
    message = scored(stopped_log(1, "random-30"))
    assert "15 of 756 combinations" in message and "choose a larger --time-budget" in message


def test_a_budget_that_leaves_no_averaged_method_yields_no_score(scored):
    records = b_eff_log(methods=("sendrecv", "neighbor"), only=lambda name: name.startswith(("ring", "random")))
    records = [
        r
        for r in records
        if not (r.get("pattern") == "ring-2" and r["message_bytes"] == 4096 and r["method"] == "sendrecv")
    ]
    records[2:2] = [budget("ring-2", 4096, "best_method", ["neighbor"], repetition) for repetition in (1, 2, 3)]
    assert "ring-2 at 4096 byte was measured with none of the averaged methods" in scored(logs_made.numbered(records))

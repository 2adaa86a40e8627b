# SPDX-License-Identifier: Apache-2.0
"""Limits of the rules that a log must keep, from both sides with literals: the last log that is accepted, and the next
one that is refused with the name of its invariant. test_contradictions.py breaks every invariant by far,
test_b_eff_rules.py and others have the limits of single records."""

import copy

import logs_made
import pytest
from contradictions import made
from edits import both, host, option, put, where
from logs_made import MIB, first, of_kind
from logs_made_b_eff import budget, lengths, retimed

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.rules import count_cores, same


def refusal(tmp_path, records):
    """The invariant that a log does not keep, None if it has a score."""
    [score] = score_logs([logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))])
    return None if isinstance(score, Score) else str(score).rpartition("[")[2].rstrip("]")


def changed(kind, change, **match):
    """Updates a record by what `change` makes of it."""

    def of(r):
        record = first(r, record=kind, **match)
        record.update(change(record))

    return of


def times(name, factor, kind="measurement", **match):
    """Multiplies one field."""
    return changed(kind, lambda record: {name: factor * record[name]}, **match)


def ratio(name, other, factor, kind="measurement", **match):
    """Makes one field a multiple of another."""
    return changed(kind, lambda record: {name: factor * record[other]}, **match)


def check(**more):
    """Adds to what the data check counted."""
    return changed("data_check", lambda record: {name: int(record[name]) + count for name, count in more.items()})


def ended(seconds, activity=1.0):
    return both(put("end", elapsed_seconds=seconds), put("activity", elapsed_seconds=activity))


def used(**seconds):
    """Ten cores for 100 s, on the last host."""
    return both(
        ended(1000.0, 100.0),
        lambda r: r[0]["hosts"][-1].update(online_cores=10),
        lambda r: first(r, record="activity")["hosts"][-1].update(seconds),
    )


def bound(low, high):
    """A rank of two cores and others of one."""

    def change(r):
        for entry in r[0]["hosts"]:
            sets = [str(2 * rank) for rank in entry["ranks"]]
            sets[0] += "-" + str(2 * entry["ranks"][0] + 1)
            entry.update(core_sets=sets, cores=len(sets) + 1)
        r[0]["mpi"].update(binding_cores_min=low, binding_cores_max=high)

    return change


def whole(factor, *kinds):
    """The run took so much of the time in these records."""

    def change(r):
        seconds = sum(record["elapsed_seconds"] for record in r if record["record"] in kinds)
        logs_made.ended(r, factor * seconds)

    return change


def loops(longest, latency):
    return both(
        put("plan", longest_loop_length=longest),
        lambda r: [record.update(loop_length=latency) for record in of_kind(r, "latency")],
    )


def budgets(first_seconds, second_seconds):
    """The last two lengths of a pattern are left to the averaged method, at these times of the run."""

    def change(r):
        for length, seconds in zip(lengths(8 * MIB)[-2:], (first_seconds, second_seconds)):
            at = next(n for n, m in enumerate(r) if m.get("message_bytes") == length and m["pattern"] == "ring-1")
            r[at:at] = [budget("ring-1", length, "averaged_methods", ["sendrecv"]) | {"elapsed_seconds": seconds}]
            del r[at + 2]

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


def all_checked(less):
    return both(
        put("plan", check="all"), changed("data_check", lambda record: {"checked_bytes": record["read_bytes"] - less})
    )


def parts_and(seconds):
    """A written pattern takes 5 % and so many seconds longer than its parts, which are 99 % of what it took; and with
    it its type and the run."""

    def change(r):
        entry = first(r, record="measurement", pattern=3)
        longer = (0.99 * 1.05 - 1) * entry["elapsed_seconds"] + seconds
        for record in (entry, first(r, record="pattern_type", type="scatter"), r[-1]):
            record["elapsed_seconds"] += longer

    return change


def later(tolerance):
    """A type took longer than its parts, by so much of its time, which is more than a second."""
    return changed("pattern_type", lambda record: {"elapsed_seconds": record["elapsed_seconds"] * (1 + tolerance)})


def much_checked(less):
    return both(
        put("plan", check=True), changed("data_check", lambda record: {"checked_bytes": record["read_bytes"] - less})
    )


def verified(**fields):
    return lambda r: first(r, record="repetition")["verification"].update(fields)


def tolerated(factor):
    return lambda r: first(r, record="repetition")["verification"].update(
        tolerated_relative_difference=factor * 4 * 2.0**-52 * 64**2
    )


def of_process(place, factor):
    """The time of a process in a phase, which is 1 s for the first one and 0.1 s more for each next one."""

    def change(r):
        times = first(r, record="process_times", stage="verify", activity="read")["seconds"]
        times[place] *= factor

    return change


def mounted(mount_point, directory):
    return lambda r: r[0]["filesystem"].update(mount_point=mount_point, directory=directory)


def shared_by(servers):
    """The common file of PRIOMark, of four stripes, is on so many servers."""
    names = " ".join(map(str, range(servers)))
    return lambda r: first(r, record="measurement", benchmark="common_file")["striping"][0].update(server=names)


def blocks(fragment_bytes, total_bytes):
    return lambda r: r[0]["filesystem"].update(fragment_bytes=fragment_bytes, total_bytes=total_bytes)


def of_file_system(**fields):
    return lambda r: r[0]["filesystem"].update(fields)


def round_trip(seconds):
    """The longest of a host, of which the shortest takes 0.1 us."""
    return lambda r: first(r, record="probe")["hosts"][1].update(longest_round_trip_seconds=seconds)


def space(more):
    """90 % of the 10^14 bytes that are free, and so many more."""
    return both(option(space_limit=None), put("plan", space_limit_bytes=9 * 10**13 + more))


def done_after(seconds):
    """The last process of a pattern was done so long after its whole time."""
    return changed("measurement", lambda r: {"last_done_seconds": r["elapsed_seconds"] + seconds}, pattern=3)


def accessed_after(seconds):
    return changed("measurement", lambda r: {"access_seconds": r["last_done_seconds"] + seconds}, pattern=3)


def whole_b_eff(factor):
    return whole(factor, "measurement", "latency", "trial")


def of_messages(pattern):
    return lambda factor: ratio("slowest_message_seconds", "elapsed_seconds", factor, pattern=pattern)


def share(name, other):
    return lambda factor: ratio(name, other, factor, pattern=3)


def sides(benchmark, change, accepted, refused):
    """A case of one change with two values."""
    return benchmark, change(accepted), change(refused)


def around(benchmark, change, usual, least, more):
    """Two cases: by these shares above and below the usual value."""
    return [sides(benchmark, change, usual * (1 + s * least), usual * (1 + s * more)) for s in (1, -1)]


# Invariant: the benchmark, the change that is accepted, and the one that is refused.
LIMITS = {
    "activity_time": [("ftio", ended(1000.0, 1010.9), ended(1000.0, 1011.1))],  # a second and 1 %
    "activity_cores": [
        ("ftio", used(stolen_seconds=1010.9), used(stolen_seconds=1011.1)),
        ("ftio", used(others_user_seconds=1010.9), used(others_user_seconds=1011.1)),
    ],
    "offered_cores": [("ftio", host(offered_cores=128), host(offered_cores=127))],
    "binding": [("b_eff", bound(1, 2), bound(1, 1)), ("b_eff", bound(1, 2), bound(2, 2))],
    "memory": [("ftio", host(memory_bytes=2**17 + 1), host(memory_bytes=2**17 - 1))],  # for two processes, rounded down
    "free_bytes": [("b_eff_io", of_file_system(free_bytes=10**15), of_file_system(free_bytes=10**15 + 1))],
    "mount": [
        ("b_eff_io", mounted("/", "/scratch"), mounted("/scratch/a", "/scratch/ab")),
        ("ftio", mounted("/scratch", "/scratch/a"), mounted("/scratch/a", "/scratch")),
    ],
    "striping": [sides("priomark", shared_by, 8, 9)],
    "fragment_bytes": [
        ("priomark", blocks(4096, 4096 * 10**12), blocks(4096, 4096 * 10**12 - 1)),
        ("priomark", blocks(4096, 2**63 - 1), blocks(4096, 2**63 - 2)),  # more cannot be stated
    ],
    "checked_bytes": [
        ("b_eff", check(), check(received_bytes=0, checked_bytes=1)),
        ("b_eff_io", check(), check(checked_bytes=-1)),
        ("b_eff_io", check(), check(checked_bytes=1)),
        sides("b_eff_io", all_checked, 0, 1),
        ("priomark", check(), check(checked_bytes=1)),
        sides("priomark", much_checked, 0, 1),
        sides("priomark", much_checked, 0, -1),
    ],
    "shortest": [sides("b_eff", lambda s: changed("measurement", lambda record: retimed(record, s)), 1.01e-9, 0.99e-9)],
    "fastest": [sides("b_eff", lambda f: ratio("fastest_seconds", "elapsed_seconds", f), 1.0, 1.001)],
    # Processes of ring-1 send one message in the ring of two, or two in the ring of three; in ring-2, all send two.
    "slowest_message": [
        sides("b_eff", of_messages("ring-1"), 0.5 * (1 - 0.9e-9), 0.5 * (1 - 1.1e-9)),
        sides("b_eff", of_messages("ring-1"), 1 + 0.9e-9, 1 + 1.1e-9),
        sides("b_eff", of_messages("ring-2"), 0.5 * (1 + 0.9e-9), 0.5 * (1 + 1.1e-9)),
        *around("b_eff", of_messages("ping-pong"), 1, 0.9e-9, 1.1e-9),
        sides("b_eff", of_messages("worst-cycle"), 0.5 * (1 + 0.9e-9), 0.5 * (1 + 1.1e-9)),
    ],
    "whole_time": [
        sides("b_eff", whole_b_eff, 1 + 1e-9, 1 - 1e-9),
        sides("b_eff_io", lambda factor: whole(factor, "pattern_type"), 1 + 1e-9, 1 - 1e-9),
    ],
    "loop_length": [
        ("b_eff", put("measurement", loop_length=100000), put("measurement", loop_length=100001)),
        ("b_eff", loops(10001, 10000), loops(10001, 10001)),
        ("b_eff", loops(9999, 9999), loops(9999, 10000)),
        ("b_eff", loops(9999, 9999), loops(9999, 9998)),
    ],
    "budget_times": [("b_eff", budgets(9.0, 9.0), budgets(9.0, 8.9))],
    "probe_times": [sides("b_eff", round_trip, 1e-7, 0.99e-7)],
    "planned": [
        *around("b_eff_io", lambda seconds: option(scheduled_time=seconds), 9.0, 0.9e-9, 1.1e-9),
        *around("b_eff_io", lambda f: times("scheduled_seconds", f, pattern=3), 1, 0.9e-9, 1.1e-9),
        *(sides("b_eff_io", space, 0, more) for more in (1, -1)),
        *around("ftio", tolerated, 1, 0.9e-9, 1.1e-9),
        *around("ftio", lambda factor: times("nominal_flops", factor, "repetition"), 1, 0.9e-9, 1.1e-9),
    ],
    "agreements": [
        ("b_eff_io", agreed(False, 0), agreed(False, -1)),
        ("b_eff_io", agreed(True, 0), agreed(True, 1)),
        ("b_eff_io", agreed(True, 0), agreed(True, -1)),
        sides("b_eff_io", lambda n: where("measurement", {"agreements": n}, pattern=3), 2, 1),
    ],
    "type_time": [sides("b_eff_io", later, s * 0.9e-6, s * 1.1e-6) for s in (1, -1)],
    "parts": [
        sides("b_eff_io", done_after, 0.9e-6, 1.1e-6),
        sides("b_eff_io", accessed_after, 0.9e-6, 1.1e-6),
        sides("b_eff_io", share("access_fastest_seconds", "access_seconds"), 1.0, 1.001),
        sides("b_eff_io", share("agreement_fastest_seconds", "agreement_seconds"), 1.0, 1.001),
        sides("b_eff_io", share("sync_seconds", "elapsed_seconds"), 1.0, 1.001),
        sides("b_eff_io", share("position_seconds", "elapsed_seconds"), 1.0, 1.001),
    ],
    "whole": [sides("b_eff_io", parts_and, 4.999, 5.001)],
    # 4 * 2^-52 * 64^2 = 3.63798e-12
    "verification": [sides("ftio", lambda d: verified(largest_relative_difference=d), 3.6379e-12, 3.6380e-12)],
    "differences": [sides("ftio", lambda d: verified(total_difference=d), 1e-12 * (1 - 0.9e-6), 1e-12 * (1 - 1.1e-6))],
    "process_slowest": around("ftio-uneven", lambda factor: of_process(3, factor), 1, 5.9e-4, 6.1e-4),
    "process_fastest": around("ftio-uneven", lambda factor: of_process(0, factor), 1, 5.9e-4, 6.1e-4),
    "resident": [sides("ftio", lambda size: put("start", resident_bytes=size), 20 * MIB, 20 * MIB + 1)],
}
CASES = [
    pytest.param(benchmark, name, accepted, refused, id=f"{benchmark}-{name}-{number}")
    for name, cases in LIMITS.items()
    for number, (benchmark, accepted, refused) in enumerate(cases)
]


@pytest.mark.parametrize(("benchmark", "name", "accepted", "refused"), CASES)
def test_a_limit_from_both_sides(tmp_path, benchmark, name, accepted, refused):
    fine, wrong = (copy.deepcopy(made()[benchmark]) for _ in range(2))
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

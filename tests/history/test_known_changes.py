# SPDX-License-Identifier: Apache-2.0
"""What a site states about its events and sessions: accepted levels, expected changes and maintenance, each on both
sides of its limits."""

import json
from datetime import datetime, timedelta
from functools import cache

import pytest
import yaml
from commands import run, said
from sessions_made import case, database, each_night, night, steady

WHO = {"system": "local", "who": "operator", "why": "new disks"}
PLACE = {"file_system": "scratch"}
CHANGED = 30  # the night with which the tables below change: 2026-01-31 02:00 UTC


def rates(number, name, factor=1.0, **more):
    """Two metrics of a file system in one night."""
    values = {}
    for place, metric in enumerate(("write", "read")):
        noise = steady(60, 1000.0, 0.02, seed=place + 10 * (name == "home"))
        values[metric] = (factor * noise[number], "MByte/s")
    return case(values, benchmark="b_eff_io", file_system=name, **more)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A function of factors: nights of two file systems, of which the factors apply from night CHANGED on. They are
    made once."""

    @cache
    def made(scratch, home=1.0, count=38):
        late = {"scratch": scratch, "home": home}

        def of_night(number):
            return [rates(number, name, late[name] if number >= CHANGED else 1.0) for name in late]

        return database(tmp_path_factory.mktemp("nights") / "results.db", each_night(count, of_night))

    return made


def checked(source, tmp_path, *entries, command="check-history"):
    """The command with a site's file of these entries."""
    file = tmp_path / "known.yaml"
    file.write_text(yaml.safe_dump(list(entries)))
    done = run(*command.split(), source, "--acknowledged", file)
    return done.exit_code, done.output.replace("│", " ")


def announced(direction="worse", begin="2026-01-31", end="2026-01-31", at_most=0.25, **more):
    return {"kind": "expected", "direction": direction, "begin": begin, "end": end, "at_most": at_most} | WHO | more


def accepted(at_most, **more):
    stated = {"kind": "accepted", "since": "2026-01-31", "direction": "worse", "at_most": at_most, "where": PLACE}
    return stated | WHO | more


def command(source, file, **options):
    each = [(name, one) for name, given in options.items() for one in (given if isinstance(given, tuple) else [given])]
    words = [word for name, value in each for word in (f"--{name}", value)]
    return run("acknowledge", source, "--who", "operator", "--why", "new disks", "--file", file, *words)


# --- accepted ---------------------------------------------------------------------------------------------------------


def test_an_accepted_level_never_alarms_and_is_no_loss_on_the_pages(stored, tmp_path):
    source, file = stored(0.8), tmp_path / "known.yaml"
    [event] = json.loads(run("check-history", source, "--json").stdout)["events"]
    done = command(source, file, kind="accepted", event=event["event"])
    assert done.exit_code == 0 and done.output.startswith("accepted: file_system=scratch"), done.output
    [entry] = yaml.safe_load(file.read_text())
    assert "until" not in entry and entry["at_most"] == pytest.approx(abs(event["largest"]) * 1.25, abs=0.002)
    done = run("check-history", source, "--acknowledged", file)
    assert done.exit_code == 0 and "Accepted by operator" in done.output
    assert "accepted: file_system=scratch" in done.output
    for row in json.loads(run("history", source, "--acknowledged", file, "--json").stdout)["series"]:
        assert row["trend"].startswith("changed since 2026-01-31") is (row["file_system"] == "scratch"), row["trend"]
    page, metrics = tmp_path / "site.html", tmp_path / "metrics.txt"
    assert run("site", "report", source, "--acknowledged", file, "-o", page).exit_code == 0
    assert "accepted</span>" in page.read_text() and "worse since" not in page.read_text()
    assert run("export", source, "--acknowledged", file, "--openmetrics", metrics).exit_code == 0
    assert not [line for line in metrics.read_text().splitlines() if "coffeecup_regression{" in line and " 1.0" in line]


@pytest.mark.parametrize(("at_most", "code"), [(0.19, 1), (0.23, 0)])
def test_an_accepted_event_that_is_larger_alarms_and_says_so(stored, tmp_path, at_most, code):
    """A loss of 20 %, of which the noise of 2 % leaves 19 to 23."""
    done, text = checked(stored(0.8), tmp_path, accepted(at_most))
    assert done == code and ("This is not what was accepted: worse by at most 19.0%" in text) is (code == 1)


def test_a_small_accepted_event_may_grow_by_two_percent_of_its_level(stored, tmp_path):
    source, file = stored(0.96, count=60), tmp_path / "known.yaml"
    [event] = json.loads(run("check-history", source, "--json").stdout)["events"]
    assert command(source, file, kind="accepted", event=event["event"]).exit_code == 0
    [entry] = yaml.safe_load(file.read_text())
    assert entry["at_most"] == pytest.approx(abs(event["largest"]) + 0.02, abs=0.001)


def test_a_loss_after_an_accepted_one_is_another_event(tmp_path):
    made = each_night(50, lambda n: [rates(n, "scratch", 1 - 0.2 * (n >= 20) - 0.3 * (n >= 40))])
    first = accepted(0.25, since="2026-01-21", where={})
    done, text = checked(database(tmp_path / "r.db", made), tmp_path, first)
    assert done == 1 and "accepted: " in text
    [line] = [line for line in text.splitlines() if line.startswith("REGRESSION")]
    assert "since 2026-02-10" in line and "not what was" not in line


# --- expected ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "end", "covered"),
    [
        ("2026-01-28", "2026-01-29", False),
        ("2026-01-28", "2026-01-30", True),  # after that night's session: the next one is the first to show it
        ("2026-01-31", "2026-02-03", True),
        ("2026-02-01", "2026-02-03", False),
    ],
)
def test_an_expected_change_does_not_alarm_if_it_begins_in_its_window(stored, tmp_path, begin, end, covered):
    entry = announced(begin=begin, end=end, where=PLACE)
    code, text = checked(stored(0.8), tmp_path, entry)
    assert code == (0 if covered else 1) and ("expected: file_system=scratch" in text) is covered
    assert ("Expected by operator: new disks" in text) is covered


@pytest.mark.parametrize(("at_most", "code"), [(0.19, 1), (0.23, 0)])
def test_an_expected_change_that_is_larger_alarms_and_says_so(stored, tmp_path, at_most, code):
    done, text = checked(stored(0.8), tmp_path, announced(at_most=at_most, where=PLACE))
    assert done == code and ("This is not what was expected: worse by at most 19.0%" in text) is (code == 1)
    assert "did not come" not in text


@pytest.mark.parametrize(("direction", "factor", "code"), [("better", 0.8, 1), ("worse", 1.3, 0), ("better", 1.3, 0)])
def test_a_change_in_the_other_direction_is_not_the_expected_one(stored, tmp_path, direction, factor, code):
    entry = announced(direction, at_most=0.5, where=PLACE)
    done, text = checked(stored(factor), tmp_path, entry)
    other = (direction == "worse") is (factor > 1)
    assert done == code and (f"This is not what was expected: {direction}" in text) is other
    assert ("Expected by operator" in text) is not other and "did not come" not in text


def test_a_change_that_spreads_beyond_the_expected_place_alarms_and_says_so(stored, tmp_path):
    done, text = checked(stored(0.8, home=0.8), tmp_path, announced(where=PLACE))
    assert done == 1 and "REGRESSION: " in text
    assert "This is not what was expected" in text and "file_system scratch" in text


@pytest.mark.parametrize(
    ("count", "said"),
    [(CHANGED, ""), (CHANGED + 1, "not seen yet"), (CHANGED + 4, "not seen yet"), (CHANGED + 5, "did not come")],
)
def test_an_expected_change_did_not_come_if_four_sessions_after_its_window_show_none(stored, tmp_path, count, said):
    """The window is the day of night CHANGED; four sessions make a level."""
    done, text = checked(stored(1.0, count=count), tmp_path, announced(where=PLACE))
    lines = [line for line in text.splitlines() if "new disks" in line]
    assert done == 0 and len(lines) == bool(said) and all(said in line for line in lines)


def test_an_episode_is_no_expected_change(tmp_path):
    """Five low nights from night CHANGED on, which end by themselves: what was expected would last."""
    made = each_night(50, lambda n: [rates(n, "scratch", 0.7 if 0 <= n - CHANGED < 5 else 1.0)])
    done, text = checked(database(tmp_path / "e.db", made), tmp_path, announced(at_most=0.5))
    assert done == 0 and "episode: " in text and "expected and did not come" in text, text


@pytest.mark.parametrize(
    ("entry", "suspected"),
    [
        (announced(), False),
        (announced(at_most=0.1), True),
        (announced("better"), True),
        (announced(where={"file_system": "home"}), True),
        (announced(begin="2026-01-30", end="2026-01-30"), True),
    ],
    ids=["expected", "larger", "direction", "place", "time"],
)
def test_the_first_session_of_an_expected_change_is_not_suspected(stored, tmp_path, entry, suspected):
    """So `--confirm` does not rerun it, and it does not alarm by that."""
    done, text = checked(stored(0.8, count=CHANGED + 1), tmp_path, entry)
    assert done == 0 and ("suspected: " in text) is suspected


def test_an_expected_change_of_a_place_that_nothing_measures_is_named(stored, tmp_path):
    done, text = checked(stored(0.8), tmp_path, announced(where={"file_system": "scratsh"}))
    assert done == 1 and "expected, but nothing measures this place: worse" in text


# --- maintenance ------------------------------------------------------------------------------------------------------


def pause(begin, end, **where):
    times = {"begin": datetime.fromisoformat(begin), "end": datetime.fromisoformat(end)}
    return {"kind": "maintenance"} | times | ({"where": where} if where else {}) | WHO


@pytest.fixture
def low_nights(stored):
    """The last four of 34 nights are low. Each session begins at 02:00; its two jobs end 60 and 61 s later."""
    return stored(0.6, home=0.6, count=34)


@pytest.mark.parametrize(
    ("begin", "end", "left_out"),
    [
        ("2026-01-31 02:00:00", "2026-02-03 02:00:00", 8),
        ("2026-01-31 02:00:00", "2026-02-03 01:59:59", 6),
        ("2026-01-31 02:01:01", "2026-02-03 02:00:00", 7),
        ("2026-01-31 02:01:02", "2026-02-03 02:00:00", 6),
    ],
)
def test_runs_that_overlap_maintenance_are_left_out(low_nights, tmp_path, begin, end, left_out):
    _, text = checked(low_nights, tmp_path, pause(begin, end))
    assert f"maintenance, {left_out} test runs left out: " in text


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ({}, 0, "maintenance, 8 test runs left out"),
        ({"file_system": "scratch"}, 1, "maintenance, 4 test runs left out"),
        ({"node": "x"}, 1, "maintenance of no test"),
    ],
)
def test_sessions_in_maintenance_enter_no_level(low_nights, tmp_path, where, code, said):
    done, text = checked(low_nights, tmp_path, pause("2026-01-31 02:00:00", "2026-02-03 02:00:00", **where))
    others = [line for line in text.splitlines() if "scratch" in line and not line.startswith("maintenance")]
    assert done == code and said in text and bool(others) is ("node" in where), text


@pytest.mark.parametrize(("minutes", "left_out"), [(29, False), (30, True)])
def test_a_run_that_began_after_maintenance_counts(tmp_path, minutes, left_out):
    """A session of two hours: the run of one hour ended at 03:30."""
    ended = (night(CHANGED) + timedelta(minutes=90)).timestamp()
    made = each_night(CHANGED, lambda number: [rates(number, "home")])
    long = rates(CHANGED, "home", job_completion_time_unix=ended, time_run=3600.0)
    made += each_night(1, lambda _: [long], first=CHANGED)
    entry = pause("2026-01-31 00:00:00", f"2026-01-31 02:{minutes}:00")
    _, text = checked(database(tmp_path / "long.db", made), tmp_path, entry)
    assert ("maintenance, 1 test run left out" in text) is left_out and ("left out" in text) is left_out


FAILED = case({}, benchmark="b_eff_io", file_system="scratch", partition="files", result="fail", fail_reason="down")


@pytest.fixture(scope="module", params=["failed", "absent"])
def without(tmp_path_factory, request):
    """Scratch has no value in the last two of 20 nights: its test failed or did not run."""

    def cases(number):
        good = rates(number, "home")
        if number < 18:
            return [good, rates(number, "scratch", partition="files")]
        return [good, FAILED] if request.param == "failed" else [good]

    return database(tmp_path_factory.mktemp(request.param) / "results.db", each_night(20, cases))


@pytest.mark.parametrize(
    ("entry", "sessions"),
    [
        (pause("2026-01-19 00:00:00", "2026-01-20 23:00:00"), 0),
        (pause("2026-01-19 00:00:00", "2026-01-20 23:00:00", file_system="scratch"), 0),
        (pause("2026-01-19 00:00:00", "2026-01-20 23:00:00", file_system="home"), 2),
        (pause("2026-01-19 00:00:00", "2026-01-19 23:00:00"), 1),
        (pause("2026-01-19 00:00:00", "2026-01-20 23:00:00") | {"system": "other"}, 2),
    ],
    ids=["all", "scratch", "home", "one night", "other system"],
)
def test_a_test_is_not_missed_in_maintenance(tmp_path, without, entry, sessions):
    code, text = checked(without, tmp_path, entry)
    lines = [line for line in text.splitlines() if line.startswith("NO VALUE")]
    assert code == bool(sessions) and len(lines) == bool(sessions), text
    assert not lines or f"for {sessions} session" in lines[0]
    code, text = checked(without, tmp_path, entry, command="history --json")
    verdicts = {row["file_system"]: row["verdict"] for row in json.loads(text)["series"]}
    assert verdicts == {"home": "no reference", "scratch": "no value" if sessions else "no reference"}


@pytest.mark.parametrize(
    ("sessions", "listed", "missed"), [(10, True, 0), (10, False, 0), (11, True, 1), (11, False, 0)]
)
def test_a_test_of_maintenance_alone_is_missed_only_if_it_is_listed_and_maintenance_is_over(
    tmp_path, sessions, listed, missed
):
    """Of ten nights with two in maintenance, in which a test was tried and failed, and perhaps one more night."""
    tried = rates(0, "scratch", partition="files")
    made = each_night(sessions, lambda n: [rates(n, "home"), *([FAILED] if n in (8, 9) else [])])
    planned = database(tmp_path / "planned.db", each_night(1, lambda _: [tried if listed else rates(0, "home")]))
    file = tmp_path / "known.yaml"
    file.write_text(yaml.safe_dump([pause("2026-01-01 00:00:00", "2026-01-10 23:00:00", file_system="scratch")]))
    done = run("check-history", database(tmp_path / "r.db", made), "--expected", planned, "--acknowledged", file)
    assert done.exit_code == missed and ("not run for 1 session" in done.output) is bool(missed), done.output


def test_an_expected_test_may_be_absent_in_maintenance_only(tmp_path):
    both = [rates(0, "home"), rates(0, "scratch", partition="files")]
    planned = database(tmp_path / "planned.db", each_night(1, lambda _: both))
    made = database(tmp_path / "made.db", each_night(10, lambda number: [rates(number, "home")]))
    file = tmp_path / "known.yaml"
    for last, code in ("2026-01-10 02:00:00", 0), ("2026-01-10 01:59:59", 1):
        file.write_text(yaml.safe_dump([pause("2026-01-01 00:00:00", last, file_system="scratch")]))
        done = run("check-history", made, "--expected", planned, "--acknowledged", file)
        assert done.exit_code == code and ("NO VALUE" in done.output) is bool(code), done.output


# --- the command and the file ----------------------------------------------------------------------------------------


EVENT = {"event": "local/2026-01-31/worse/file_system=scratch"}
EXPECTED = {"kind": "expected", "begin": "2026-01-01", "end": "2026-01-01"}
PAUSE = {"kind": "maintenance", "begin": "2026-01-01", "end": "2026-01-02"}


def test_what_the_command_records_has_the_effect_that_it_states(stored, tmp_path):
    source, file = stored(0.8), tmp_path / "known.yaml"
    times = {"begin": "2026-01-30", "end": "2026-01-31"}
    options = {"kind": "expected", "direction": "worse", "at-most": 0.25, "where": "file_system=scratch"}
    assert command(source, file, **times, **options).exit_code == 0
    assert run("check-history", source, "--acknowledged", file).exit_code == 0
    file.unlink()
    times = {"begin": "2026-01-31T02:00:00", "end": "2026-02-28"}
    assert command(source, file, kind="maintenance", **times).exit_code == 0
    done = run("check-history", source, "--acknowledged", file)
    assert done.exit_code == 0 and "maintenance, 16 test runs left out" in done.output
    assert command(source, file, **EXPECTED, direction="better").exit_code == 0
    assert [entry["kind"] for entry in yaml.safe_load(file.read_text())] == ["maintenance", "expected"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "--event: which one is missing; valid: local/2026-01-31/worse/file_system=scratch"),
        (EVENT, "missing required field `until`"),
        ({"kind": "expected", "direction": "worse"}, "missing required field `begin`"),
        (EXPECTED | {"direction": "up"}, "Invalid enum value 'up'"),
        (EXPECTED | {"direction": "worse"}, "`at_most` is missing"),
        (EXPECTED | {"direction": "worse", "at-most": "inf"}, "such as 0.1 for 10 %, not inf"),
        (PAUSE | {"begin": "2026-01-03"}, "is before `begin`"),
        (PAUSE | {"at-most": 0.1}, "unknown field `at_most`"),
        (PAUSE | {"where": "metric=b_eff"}, "cannot state metric"),
        (PAUSE | {"where": "node"}, "COLUMN=VALUE"),
        (PAUSE | EVENT, "--event has no effect on an entry of the kind maintenance"),
        (EVENT | {"until": "2126-01-01", "where": "file_system=home"}, "--where has no effect"),
        (EVENT | {"kind": "accepted", "at-most": 0.5}, "--at-most has no effect"),
        (EVENT | {"until": "2126-01-01", "at-most": 0.1}, "--at-most has no effect"),
        (PAUSE | {"where": ("file_system=home", "file_system=scratch")}, "file_system has two values: record an entry"),
        (PAUSE | {"system": "x"}, "nothing measures this place"),
    ],
    ids=str,
)
def test_options_that_make_no_entry_are_refused_and_nothing_is_written(stored, tmp_path, options, complaint):
    file = tmp_path / "known.yaml"
    done = command(stored(0.8), file, **options)
    assert done.exit_code == 2 and complaint in said(done), done.output
    assert not file.exists()

# SPDX-License-Identifier: Apache-2.0
"""Events: changes that belong together and where they are; a site's thresholds and acknowledgements."""

import json
from datetime import UTC, date, datetime, timedelta
from xml.etree import ElementTree

import pytest
import yaml
from commands import run, said
from sessions_made import case, database, each_night, nights, steady, values_of, write

from coffeecup.postprocess.history.change_points import findings
from coffeecup.postprocess.history.events import EVERYTHING, events
from coffeecup.postprocess.history.site_files import Acknowledgement

TODAY = datetime.now(UTC).date()


def files(number, seed, drop, begin=30, changed=("scratch",), metrics=("b_eff_io", "write", "read")):
    """Rates of a night on two file systems; those of `changed` lose `drop`."""
    for place, name in enumerate(("home", "scratch")):
        factor = 1 - drop if name in changed and number >= begin else 1
        values = [steady(begin + 10, 1000.0, 0.02, seed=seed + 10 * place + n)[number] for n in range(len(metrics))]
        rates = {metric: (factor * value, "MByte/s") for metric, value in zip(metrics, values)}
        yield case(rates, benchmark="b_eff_io", file_system=name)


def b_eff(number, seed, factor=1.0, begin=0, **more):
    """A rate that changes by a factor from a night on."""
    value = steady(40, 1000.0, 0.02, seed=seed)[number] * (factor if number >= begin else 1)
    return case({"b_eff": (value, "MByte/s")}, **more)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A file system loses a fifth after 30 of 38 nights; the other one and the network do not."""
    made = each_night(38, lambda n: [*files(n, 1, 0.2), b_eff(n, 50), b_eff(n, 51, processes=4)])
    return database(tmp_path_factory.mktemp("broken") / "results.db", made)


@pytest.fixture(scope="module")
def event(broken):
    """The name of its only event."""
    [found] = json.loads(run("check-history", broken, "--json").stdout)["events"]
    return found["event"]


def lines_of(done, word):
    return [line for line in done.output.splitlines() if line.startswith(word)]


def test_a_change_of_a_file_system_is_one_event(broken):
    done = run("check-history", broken)
    assert done.exit_code == 1
    [line] = lines_of(done, "REGRESSION")
    assert line.startswith("REGRESSION: file_system=scratch of local: 3 of 3 metrics there, and 0 of the other 5, ")
    assert "since 2026-01-31 02:00 UTC" in line
    content = json.loads(run("check-history", broken, "--json").stdout)
    [event] = content["events"]
    assert (event["scope"], event["where"]) == ("file_system=scratch", {"file_system": "scratch"})
    assert (event["direction"], event["alarm"]) == ("worse", True)
    metrics = {change["metric"] for change in content["changes"]}
    assert event["metrics"] == len(content["changes"]) and metrics <= {"b_eff_io", "write", "read"}
    assert event["largest"] == pytest.approx(-0.2, abs=0.03) and event["sessions"] == 8


def found_in(tmp_path, sessions):
    values = values_of(tmp_path, sessions)
    return events(values, findings(values))


def test_the_smallest_place_that_covers_all_series_is_named(tmp_path):
    """Of partition x (two sizes of b_eff) and y, x changes."""

    def cases(n):
        yield from (b_eff(n, seed, 0.8, 30, partition="x", processes=2 * seed) for seed in (1, 2))
        yield b_eff(n, 3, partition="y")

    [event] = found_in(tmp_path, each_night(38, cases))
    assert (event.scope, event.where, event.covered, event.others) == ("partition=x", {"partition": "x"}, 2, (0, 1))


def test_a_change_of_all_series_is_everywhere(tmp_path):
    made = each_night(38, lambda n: [b_eff(n, size, 0.8, 30, processes=size) for size in (2, 4, 8)])
    [event] = found_in(tmp_path, made)
    assert (event.scope, event.where, event.covered) == (EVERYTHING, {}, 3)


@pytest.mark.parametrize(("later", "count"), [(0, 1), (2, 1), (8, 2)])
def test_changes_at_about_the_same_time_are_one_event(tmp_path, later, count):
    made = each_night(40, lambda n: [b_eff(n, 1, 0.7, 20), b_eff(n, 2, 0.7, 20 + later, processes=4)])
    assert len(found_in(tmp_path, made)) == count


@pytest.mark.parametrize(("series", "updated", "named"), [(3, 1, False), (3, 2, True), (4, 2, True)])
def test_a_cause_of_an_event_is_what_changed_in_at_least_half_of_its_series(tmp_path, series, updated, named):
    """Of the series that lose, so many run with another MPI library since then."""

    def cases(n):
        for place, size in enumerate((2, 4, 8, 16)[:series]):
            library = "new" if n >= 20 and place < updated else "old"
            yield b_eff(n, place, 0.7, 20, processes=size, mpi_library=library)

    [event] = found_in(tmp_path, each_night(40, cases))
    assert [finding.unit for finding in event.findings] == ["MByte/s"] * series
    assert event.causes == ("MPI library: old -> new",) * named


def test_better_and_worse_are_two_events_and_better_does_not_alarm(tmp_path):
    made = each_night(30, lambda n: [b_eff(n, 1, 0.7, 20), b_eff(n, 2, 1.3, 20, processes=4)])
    found = [(event.direction, event.alarms) for event in found_in(tmp_path, made)]
    assert found == [("worse", True), ("better", False)]


def test_a_system_is_not_mixed_with_another(tmp_path):
    made = each_night(30, lambda n: [b_eff(n, 1, 0.7, 20, system=name) for name in ("a", "b")])
    assert [event.system for event in found_in(tmp_path, made)] == ["a", "b"]


# --- acknowledgements -------------------------------------------------------------------------------------------------


def acknowledge(stored, file, event, until=TODAY + timedelta(days=7), **more):
    options = {"who": "operator", "why": "disks are replaced"} | more
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return run("acknowledge", stored, "--event", event, "--until", str(until), "--file", file, *words)


@pytest.fixture
def known(broken, event, tmp_path):
    """The file after the event was acknowledged."""
    done = acknowledge(broken, tmp_path / "known.yaml", event)
    assert done.exit_code == 0, done.output
    return tmp_path / "known.yaml"


def test_an_acknowledged_event_is_shown_and_does_not_alarm(broken, known, tmp_path):
    done = run("check-history", broken, "--acknowledged", known)
    assert done.exit_code == 0 and not lines_of(done, "REGRESSION")
    [line] = lines_of(done, "acknowledged")
    assert f"Acknowledged by operator until {TODAY + timedelta(days=7)}: disks are replaced" in line
    assert "0 regressions that have not recovered, 1 acknowledged" in done.output
    junit, metrics = tmp_path / "junit.xml", tmp_path / "metrics.txt"
    done = run("export", broken, "--acknowledged", known, "--junit", junit, "--openmetrics", metrics)
    assert done.exit_code == 0, done.output
    [shown] = [one for one in ElementTree.parse(junit).iter("testcase") if one.get("classname") == "local.history"]
    assert shown.find("failure") is None and "disks are replaced" in shown.find("skipped").get("message")
    [sample] = [line for line in metrics.read_text().splitlines() if line.startswith("coffeecup_event_alarms{")]
    assert sample.endswith(" 0.0") and 'scope="file_system=scratch"' in sample
    page = tmp_path / "site.html"
    assert run("site", "report", broken, "--acknowledged", known, "-o", page).exit_code == 0
    assert "disks are replaced" in page.read_text() and ">regression<" not in page.read_text()


@pytest.mark.parametrize(("days", "code"), [(-1, 1), (0, 0)])
def test_an_acknowledgement_expires_after_its_last_day(broken, known, days, code):
    [entry] = yaml.safe_load(known.read_text())
    known.write_text(yaml.safe_dump([entry | {"until": TODAY + timedelta(days=days)}]))
    done = run("check-history", broken, "--acknowledged", known)
    assert done.exit_code == code
    assert bool(lines_of(done, f"acknowledgement expired on {TODAY + timedelta(days=days)}")) is (code == 1)


def test_an_acknowledgement_that_matches_nothing_is_named(broken, known):
    [entry] = yaml.safe_load(known.read_text())
    others = [
        {"since": date(2026, 1, 27)},
        {"system": "other"},
        {"direction": "better"},
        {"where": {"file_system": "home"}},
    ]
    known.write_text(yaml.safe_dump([entry | change for change in others]))
    done = run("check-history", broken, "--acknowledged", known)
    assert done.exit_code == 1 and lines_of(done, "REGRESSION")
    assert len(lines_of(done, "acknowledged without an event: ")) == len(others)
    for option in ("--benchmark=b_eff", "--until=2026-01-20"):  # the event is of the rest
        done = run("check-history", broken, "--acknowledged", known, option)
        assert not lines_of(done, "acknowledged without an event: "), done.output


@pytest.mark.parametrize(("since", "covered"), [(6, False), (7, True), (15, True), (23, True), (24, False)])
def test_an_acknowledgement_covers_an_event_whose_date_moves_within_its_interval(since, covered):
    """An event that began between the 10th and the 20th; three days more on both sides."""
    texts = {"system": "local", "direction": "worse", "who": "a", "why": "b"}
    entry = Acknowledgement(since=date(2026, 1, since), until=date(2026, 3, 1), **texts)
    assert entry.near([date(2026, 1, 10), date(2026, 1, 20)]) is covered


@pytest.mark.parametrize(("sessions", "state", "code"), [(34, "new", 1), (35, "ongoing", 0)])
def test_an_event_is_new_with_the_session_that_shows_it_first(tmp_path, sessions, state, code):
    """A loss of 15 % from the 31st session on, which four sessions establish; with --new a known one does not fail."""
    nightly = [*steady(30, seed=3), *steady(6, 850, seed=2)][:sessions]
    stored = database(tmp_path / "r.db", nights(nightly))
    content = json.loads(run("check-history", stored, "--json").stdout)
    assert [event["state"] for event in content["events"] if event["alarm"]] == [state]
    assert run("check-history", stored).exit_code == 1 and run("check-history", stored, "--new").exit_code == code


def test_an_event_that_spreads_alarms_again(known, tmp_path):
    """Another file system changes at the same time."""
    made = each_night(38, lambda n: [*files(n, 1, 0.2, changed=("home", "scratch")), b_eff(n, 50)])
    done = run("check-history", database(tmp_path / "spread.db", made), "--acknowledged", known)
    assert done.exit_code == 1 and lines_of(done, "REGRESSION: benchmark=b_eff_io of local")


def test_a_second_acknowledgement_keeps_the_text_of_the_file(broken, event, tmp_path):
    """A file with a comment and without a line feed at its end."""
    file = tmp_path / "known.yaml"
    old = "- {kind: acknowledged, system: old, since: 2025-01-01, direction: worse, who: b, why: c, until: 2025-02-01}"
    file.write_text(f"# kept by the operators\n{old}")
    assert acknowledge(broken, file, event).exit_code == 0
    assert file.read_text().startswith(f"# kept by the operators\n{old}\n- kind: acknowledged\n")
    assert len(yaml.safe_load(file.read_text())) == 2


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"event": "local/2026-02-01/worse/everything"}, "no event that alarms has the name"),
        ({"until": TODAY - timedelta(days=1)}, "has passed"),
        ({"who": " "}, "`who` must not be empty"),
    ],
)
def test_what_cannot_be_acknowledged_is_refused_and_nothing_is_written(broken, event, tmp_path, more, complaint):
    done = acknowledge(broken, tmp_path / "known.yaml", **{"event": event} | more)
    assert done.exit_code == 2 and complaint in said(done)
    assert not (tmp_path / "known.yaml").exists()


# --- thresholds -------------------------------------------------------------------------------------------------------


def test_thresholds_of_a_site_decide_what_is_a_change_and_which_direction_is_better(broken, tmp_path):
    file = tmp_path / "thresholds.yaml"
    file.write_text("- {file_system: scratch, smallest_change: 0.3}\n- {metric: b_eff, smallest_change: 0.5}\n")
    assert run("check-history", broken, "--thresholds", file).exit_code == 0
    file.write_text("- {benchmark: b_eff_io, better: lower}\n")
    done = run("check-history", broken, "--thresholds", file)
    assert done.exit_code == 0 and lines_of(done, "improvement: file_system=scratch of local")
    file.write_text("- {file_system: scratch, smallest_change: 0.3}\n- {file_system: scratch, smallest_change: 0.1}\n")
    assert run("check-history", broken, "--thresholds", file).exit_code == 1, "the last entry counts"


@pytest.mark.parametrize(
    ("left", "threshold", "verdict"),
    [
        (0.9705, "", "small change"),
        (0.9695, "", "REGRESSION"),
        (0.985, "", ""),
        (0.9505, "0.05", "small change"),
        (0.9495, "0.05", "REGRESSION"),
        (0.985, "0.01, smallest_change: 0.01", "REGRESSION"),
    ],
)
def test_a_loss_of_less_than_three_percent_is_reported_and_does_not_alarm(tmp_path, left, threshold, verdict):
    values = [value * (left if night >= 20 else 1) for night, value in enumerate(steady(32, spread=1e-4))]
    file = tmp_path / "thresholds.yaml"
    file.write_text(f"- {{metric: b_eff, smallest_regression: {threshold}}}\n" if threshold else "")
    done = run("check-history", write(tmp_path / "reports", nights(values)), "--thresholds", file)
    assert done.exit_code == (verdict == "REGRESSION"), done.output
    verdicts = [line.partition(":")[0] for line in done.stdout.splitlines() if "b_eff on" in line]
    assert verdicts == [verdict] * bool(verdict)
    assert ("0 regressions" in done.stdout) == (verdict != "REGRESSION")


def test_a_threshold_that_matches_nothing_is_named(broken, tmp_path):
    file = tmp_path / "thresholds.yaml"
    file.write_text("- {metric: b_eff, smallest_change: 0.1}\n- {metric: b_ef, smallest_change: 0.1}\n")
    done = run("check-history", broken, "--thresholds", file)
    assert lines_of(done, "thresholds: entry") == ["thresholds: entry 2 matches no metric"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- {metric: b_eff}", "entry 1: states none of `better`, `smallest_change`, `smallest_regression`"),
        ("- {metric: b_eff, better: up}", "entry 1: Invalid enum value 'up'"),
        ("- {metric: b_eff, smallest_change: 5 %}", "entry 1: Expected"),
        ("- {metric: b_eff, smallest_change: 0}", "`smallest_change` is a fraction"),
        ("- {metrik: b_eff, better: lower}", "unknown field `metrik`"),
        ("metric: b_eff", "expected a list of entries"),
        ("- [", "line"),
    ],
)
def test_a_wrong_file_of_thresholds_is_one_sentence(broken, tmp_path, text, complaint):
    file = tmp_path / "thresholds.yaml"
    file.write_text(text)
    done = run("check-history", broken, "--thresholds", file)
    assert done.exit_code == 2 and complaint in said(done)
    assert "Traceback" not in done.output


# --- units ------------------------------------------------------------------------------------------------------------


def test_sessions_in_another_unit_are_not_compared(tmp_path):
    """1000 MByte/s, then 1 GByte/s: the same speed."""
    rates = [(value / 1000, "GByte/s") if n >= 20 else (value, "MByte/s") for n, value in enumerate(steady(34))]
    made = each_night(34, lambda n: [case({"b_eff": rates[n]})])
    done = run("check-history", database(tmp_path / "results.db", made))
    assert done.exit_code == 0, done.output
    [line] = lines_of(done, "unit changed: ")
    assert "from MByte/s to GByte/s on 2026-01-21 02:00 UTC" in line

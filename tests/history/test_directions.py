# SPDX-License-Identifier: Apache-2.0
"""Which direction of a metric of any test is better, and which events its changes become."""

import json

import pytest
from commands import run, said
from other_suite import bandwidth, case, nights, tables, usage
from sessions_made import database, steady

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.directions import by_bounds, by_unit
from coffeecup.postprocess.history.change_points import findings, session_values
from coffeecup.postprocess.history.table import history_table
from coffeecup.postprocess.sessions.files import read_reports


@pytest.mark.parametrize(
    ("unit", "better"),
    [
        *((unit, "higher") for unit in ("MB/s", "GB/s", "MiB/s", "Gbit/s", "MByte/s", "KB/sec", "B / s", "MB per s")),
        *((unit, "higher") for unit in ("IOPS", "kIOPS", "GFLOPS", "Gflop/s", "TFLOP/s", "it/s", "steps/h", "Gbps")),
        *((unit, "lower") for unit in ("s", "ms", "us", "μs", "ns", "seconds", "min", "us/op", "s/step", "ms/it")),
        *(
            (unit, "unknown")
            for unit in ("", "%", "1", "MB", "W", "GHz", "ns/day", "days/ns", "errors/s", "steps", "K")
        ),
    ],
)
def test_direction_by_unit(unit, better):
    assert by_unit(unit) == better


def test_direction_by_bounds():
    assert by_bounds(lower=True, upper=False) == Better.HIGHER
    assert by_bounds(lower=False, upper=True) == Better.LOWER
    assert by_bounds(lower=True, upper=True) == by_bounds(lower=False, upper=False) == Better.UNKNOWN


@pytest.mark.parametrize(
    ("lower", "upper", "unit", "better"),
    [
        (-0.1, None, "%", "higher"),
        (None, 0.1, "%", "lower"),
        (-0.1, 0.1, "%", "unknown"),
        (-0.1, 0.1, "us", "lower"),
        (None, 0.1, "MB/s", "lower"),  # a limit, not a rate to reach
    ],
)
def test_bounds_come_before_the_unit(tmp_path, lower, upper, unit, better):
    """Also in the sessions before there was a reference."""
    compared = case({"x": (1.0, 1.0, lower, upper, unit, "pass")})
    reports = read_reports([database(tmp_path / "results.db", nights([case({"x": (1.0, unit)})], [compared]))])
    assert history_table(reports)["better"].tolist() == [better] * 2


def test_bounds_that_contradict_each_other_state_nothing(tmp_path):
    bounds = [(-0.1, None), (None, 0.1)]
    two = [case({"x": (1.0, 1.0, *both, "%", "pass")}, parameters={"n": n}) for n, both in enumerate(bounds)]
    _, table = tables(tmp_path, nights(two))
    assert set(table["better"]) == {"unknown"}


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_change_of_unknown_direction_is_no_silent_one(tmp_path, factor):
    stored = database(tmp_path / "results.db", usage([*steady(12, 50), *steady(8, 50 * factor, seed=2)]))
    done = run("check-history", stored)
    assert done.exit_code == 1
    assert "CHANGE OF UNKNOWN DIRECTION: scratch usage on 4 processes of cluster:cpu+gnu" in done.stdout
    assert "direction unknown (1 metric)" in done.stdout and "scratch usage [%]" in done.stdout
    assert "give its reference a bound on the bad side only, or name the metric with `better`" in done.stdout
    assert "0 regressions that have not recovered, 1 change of unknown direction" in done.stdout
    [change] = json.loads(run("check-history", stored, "--json").stdout)["changes"]
    assert (change["better"], change["regression"], change["alarm"]) == ("unknown", False, True)
    page = tmp_path / "site.html"
    assert run("site", "report", stored, "-o", page).exit_code == 0
    assert ">change of unknown direction<" in page.read_text() and "scratch usage [%]" in page.read_text()


def test_metric_of_unknown_direction_without_a_change_passes_and_is_named(tmp_path):
    stored = database(tmp_path / "results.db", usage(steady(20, 50)))
    done = run("check-history", stored)
    assert done.exit_code == 0 and "direction unknown (1 metric)" in done.stdout
    assert "direction unknown" in run("history", stored).stdout
    recovered = usage([*steady(12, 50), *steady(12, 75, seed=2), *steady(12, 50, seed=3)])
    assert run("check-history", database(tmp_path / "back.db", recovered)).exit_code == 0


@pytest.mark.parametrize(("unit", "factor", "regression"), [("us", 1.5, True), ("us", 0.5, False), ("MB/s", 0.5, True)])
def test_direction_decides_what_is_a_regression(tmp_path, unit, factor, regression):
    values = [*steady(12, 50), *steady(8, 50 * factor, seed=2)]
    _, table = tables(tmp_path, nights(*[[case({"x": (value, unit)})] for value in values]))
    [finding] = findings(session_values(table))
    assert (finding.regression, finding.alarms) == (regression, regression)


def bandwidths(values):
    return nights(*[[bandwidth(value)] for value in values])


def stepped(factor):
    return [*steady(20, 100), *(factor * value for value in steady(8, 100, seed=2))]


def samples(metrics, name):
    return [line.rpartition(" ")[2] for line in metrics.splitlines() if line.startswith(name + "{")]


STEPS = {  # what changes by -20 %: the sessions, and the verdict, direction and regression of the event
    "known": (bandwidths(stepped(0.8)), "REGRESSION", "worse", True),
    "unknown": (usage(stepped(0.8)), "CHANGE OF UNKNOWN DIRECTION", "unknown", False),
}


@pytest.mark.slow
@pytest.mark.parametrize(("sessions", "verdict", "direction", "regression"), STEPS.values(), ids=STEPS)
def test_step_of_any_metric_is_one_event_until_somebody_acknowledges_it(
    tmp_path, sessions, verdict, direction, regression
):
    stored = database(tmp_path / "results.db", sessions)
    done = run("check-history", stored)
    assert done.exit_code == 1 and done.stdout.count(f"{verdict}: scratch ") == 1
    content = json.loads(run("check-history", stored, "--json").stdout)
    [event], [change] = content["events"], content["changes"]
    assert (event["direction"], event["alarm"], event["metrics"]) == (direction, True, 1)
    assert event["largest"] == pytest.approx(-0.2, abs=0.03) and event["sessions"] == 8
    assert (change["regression"], change["alarm"]) == (regression, True)

    def exported(*options):
        done = run("export", stored, "--junit", tmp_path / "j.xml", "--openmetrics", tmp_path / "m", *options)
        assert done.exit_code == 0, done.output
        return f'message="{verdict}: scratch ' in (tmp_path / "j.xml").read_text(), (tmp_path / "m").read_text()

    failure, metrics = exported()
    assert failure and samples(metrics, "coffeecup_regression") == ["1.0"]

    known = tmp_path / "known.yaml"
    words = ("--who", "operator", "--why", "new disks", "--until", "2999-01-01", "--file", known)
    assert run("acknowledge", stored, "--event", event["event"], *words).exit_code == 0
    done = run("check-history", stored, "--acknowledged", known)
    assert done.exit_code == 0 and "acknowledged: scratch" in done.stdout, done.output
    failure, metrics = exported("--acknowledged", known)
    assert not failure and samples(metrics, "coffeecup_event_alarms") == ["0.0"]


@pytest.mark.parametrize(
    ("better", "verdict"), [("higher", "REGRESSION"), ("lower", "improvement"), ("neither", "changed")]
)
@pytest.mark.parametrize("sessions", [usage(stepped(0.8)), bandwidths(stepped(0.8))], ids=["no unit", "a rate"])
def test_direction_of_the_sites_file_counts_before_any_other(tmp_path, sessions, better, verdict):
    stored = database(tmp_path / "results.db", sessions)
    file = tmp_path / "thresholds.yaml"
    file.write_text(f"- {{benchmark: scratch, better: {better}}}\n")
    done = run("check-history", stored, "--thresholds", file)
    assert done.exit_code == int(better == "higher")
    assert f"{verdict}: scratch " in done.stdout and "direction unknown" not in done.stdout


def test_the_sites_file_cannot_leave_a_direction_open(tmp_path):
    file = tmp_path / "thresholds.yaml"
    file.write_text("- {metric: usage, better: unknown}\n")
    done = run("check-history", database(tmp_path / "results.db", usage([50.0])), "--thresholds", file)
    assert done.exit_code == 2 and "entry 1: `better` is higher, lower or neither" in said(done)


@pytest.mark.parametrize(("last", "alarms"), [(50, [False, False]), (100, [True, True]), (75, [True, False])])
def test_change_of_unknown_direction_has_recovered_if_an_earlier_level_returned(tmp_path, last, alarms):
    """The levels 50, 75 and the last one: alarms of the first two changes."""
    values = [*steady(12, 50), *steady(12, 75, seed=2), *steady(12, 100, seed=4), *steady(12, last, seed=3)]
    _, table = tables(tmp_path, usage(values))
    assert [finding.alarms for finding in findings(session_values(table))][:2] == alarms

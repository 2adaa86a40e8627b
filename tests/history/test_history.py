# SPDX-License-Identifier: Apache-2.0
"""The history: changes found in generated series with known truth, dated and put down to what changed; one table,
figures."""

import errno
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import bench_tables
import numpy as np
import otava_test_data
import pandas as pd
import pytest
from commands import run, said
from reframe.frontend.filters import have_any_name
from sessions_made import case, database, each_night, night, nights, session, steady, table_of, values_of, write

from coffeecup.postprocess.benchmarks.benchmark import Better, MetricKind
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.cli.confirm import selecting
from coffeecup.postprocess.history.change_points import Rule, changes, findings, own_rule, session_values
from coffeecup.postprocess.history.figures import trends
from coffeecup.postprocess.history.suspicions import suspicions
from coffeecup.postprocess.history.table import history_table
from coffeecup.postprocess.sessions.files import read_reports

HIGHER = Rule(Better.HIGHER)


# --- changes of level -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_lasting_drop_is_found_at_its_place(seed):
    made = otava_test_data.step_function(length=45, value_before=1000, value_after=880, change_index=40)
    noise = otava_test_data.noise_normal(length=45, mean=0, sigma=20, seed=seed)
    [change] = changes(otava_test_data.combine(made, noise).data, HIGHER)
    [truth] = made.get_change_point_indices()
    assert abs(change.index - truth) <= 1
    assert change.relative == pytest.approx(-0.12, abs=0.03)


def test_what_comes_back_is_no_level():
    values = np.array(steady(40))
    for place in (7, 15, 16, 31):
        values[place] *= 0.6
    assert not changes(values, HIGHER)
    assert not changes(np.full(40, 8.0), HIGHER), "a constant has no level but one"
    assert not changes(np.array([]), HIGHER)


def test_a_loss_that_recovered_does_not_return_with_a_later_one(tmp_path):
    """20 nights at 1000, 16 at 800, 15 at 1000, 12 at 900: the loss of a fifth lasted for 16 nights and is over; today
    a tenth is lost, and that is an event of its own."""
    nightly = [*steady(20), *steady(16, 800, seed=2), *steady(15, seed=3), *steady(12, 900, seed=4)]
    fifth, back, tenth = findings(values_of(tmp_path, nights(nightly)))
    assert [finding.recovered for finding in (fifth, tenth)] == [True, False]
    assert [finding.regression for finding in (fifth, back, tenth)] == [True, False, True]
    assert [finding.alarms for finding in (fifth, back, tenth)] == [False, False, True]
    assert [finding.lasted for finding in (fifth, back, tenth)] == [16, 15, 12]
    assert [finding.lasts for finding in (fifth, back, tenth)] == [False, False, True]
    assert {finding.today for finding in (fifth, back, tenth)} == {tenth.change.after}


def test_a_line_states_how_long_a_level_lasted_and_the_level_of_today(tmp_path):
    made = nights([*steady(20), *steady(16, 800, seed=2), *steady(15, seed=3)])
    text = run("check-history", database(tmp_path / "results.db", made)).output
    [loss] = [line for line in text.splitlines() if line.startswith("recovered: ")]
    stated = re.search(r", (\S+) -> (\S+) MByte/s, now (\S+), p = \S+, reverted by (\S+) after 16 sessions\. ", loss)
    assert stated and [float(level) for level in stated.groups()[:3]] == pytest.approx([1000, 800, 1000], rel=0.02)
    assert stated[4].startswith("local/2026-02-06/better/") and "improvement" not in text, "the loss tells its return"


def test_a_drift_of_several_steps_alarms(tmp_path):
    made = nights([*steady(20), *steady(12, 900, seed=2), *steady(12, 800, seed=3)])
    assert [finding.alarms for finding in findings(session_values(table_of(tmp_path, made)))] == [True, True]


@pytest.mark.parametrize(
    ("before", "after", "relative", "alarms"),
    [
        (0.0, 1000.0, np.inf, False),
        (1000.0, 0.0, -1.0, True),
        (-500.0, -250.0, 0.5, False),
        (-250.0, -500.0, -1.0, True),
    ],
)
def test_a_level_of_0_or_below_is_compared_by_its_sign(tmp_path, before, after, relative, alarms):
    """A bandwidth; a difference that has a sign is of the same kind."""
    stored = database(tmp_path / "results.db", nights([*[before] * 12, *[after] * 8]))
    [finding] = findings(session_values(history_table(read_reports([stored]))))
    assert (finding.change.relative, finding.alarms) == (relative, alarms)
    done = run("check-history", stored)
    assert done.exit_code == int(alarms) and ("REGRESSION" in done.output) == alarms
    assert run("history", stored, "--last").exit_code == 0


def test_a_latency_that_grows_is_a_regression(tmp_path):
    made = nights([*steady(20, 2.0), *steady(8, 3.0, seed=2)], "ring_latency", "us")
    [finding] = findings(session_values(table_of(tmp_path, made)))
    assert finding.alarms and finding.change.relative == pytest.approx(0.5, abs=0.05)


def test_every_metric_that_is_a_rate_or_a_time_has_a_better_way():
    def better(benchmark, metric):
        return own_rule({"benchmark": benchmark, "metric": metric, "better": Better.UNKNOWN}).better

    for benchmark in benchmarks():
        for metric, unit in benchmarks()[benchmark].units.items():
            if unit in ("MByte/s", "Mflop/s") and not metric.startswith("load_bandwidth"):  # more load is not better
                assert better(benchmark, metric) == Better.HIGHER
            if unit in ("s", "ms", "us", "min"):
                assert better(benchmark, metric) == Better.LOWER
    for benchmark, metric in (("ftio", "io_fraction"), ("priomark", "acl"), ("priomark", "abl")):
        assert better(benchmark, metric) == Better.LOWER
    assert better("b_eff", "l_max") == Better.NEITHER


def test_a_metric_without_a_direction_is_refused_where_it_is_stated():
    with pytest.raises(ValueError, match="metric speed: `better` is one of higher, lower, neither, unknown, not ''"):
        MetricKind("speed", "MByte/s", "")
    with pytest.raises(TypeError, match="better"):
        MetricKind("speed", "MByte/s")


# --- one value a session ----------------------------------------------------------------------------------------------


def test_a_failed_run_counts_by_its_last_retry_and_repeats_by_their_median(tmp_path):
    retried = session([case({"b_eff": (600.0, "MByte/s")}, result="fail")])
    again = [case({"b_eff": (1000.0, "MByte/s")}) | {"uuid": "again", "run_index": 1}]
    retried["runs"].append(retried["runs"][0] | {"run_index": 1, "testcases": again})
    repeats = [case({"b_eff": (value, "MByte/s")}, name=f"b_eff %.repeat_no={value}") for value in (10.0, 30.0, 20.0)]
    values = values_of(tmp_path, [retried, session(repeats, night(1))])
    assert values[["value", "runs"]].to_numpy().tolist() == [[1000, 1], [20, 3]]


def test_a_session_of_one_run_keeps_all_that_is_known_of_the_run_but_its_result(tmp_path):
    """References, pages and exports read these columns."""
    table = table_of(tmp_path, nights([1000.0], qualifications="one_host", firmware="2"))
    values = session_values(table)
    of_the_result = {"result", "reason", "measured", "metrics", "official", "reference_status"}
    assert set(table) - set(values) == of_the_result | {"case", "run", "log", "scheduler", "seconds", "node_effects"}
    assert set(values) - set(table) == {"runs"}
    both = [name for name in values if name != "runs"]
    assert values[both].iloc[0].astype(str).to_dict() == table[both].iloc[0].astype(str).to_dict()


def test_other_options_and_sizes_make_other_series(tmp_path):
    options = ({}, {"processes": 4}, {"executable_opts": ["--log", "x", "--time-budget", "60"]})
    cases = [case({"b_eff": (1.0, "MByte/s")}, **more) for more in options]
    values = session_values(table_of(tmp_path, [session(cases)]))
    expected = [(2, "--time-budget 5"), (2, "--time-budget 60"), (4, "--time-budget 5")]
    assert sorted(zip(values["processes"], values["settings"])) == expected


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def upgrade(tmp_path):
    """30 sessions with one MPI library, then 6 that are slower with another; a latency stays as it is."""
    bandwidths, latencies = [*steady(30), *steady(6, 850, seed=2)], steady(36, 2.0, seed=3)
    sessions = []
    for number, (bandwidth, latency) in enumerate(zip(bandwidths, latencies)):
        values = {"b_eff": (bandwidth, "MByte/s"), "ping_pong_latency": (latency, "us")}
        measured = case(values, mpi_library="Open MPI v4.1.4" if number < 30 else "Open MPI v5.0.1")
        sessions.append(session([measured], night(number), firmware="1" if number < 10 else "2"))
    return database(tmp_path / "results.db", sessions)


def test_check_history_names_metric_size_date_magnitude_and_cause(upgrade):
    done = run("check-history", upgrade)
    assert done.exit_code == 1, done.output
    [regression] = [line for line in done.output.splitlines() if line.startswith("REGRESSION")]
    assert "b_eff on 2 processes of local:default+mpi" in regression and "since 2026-01-31 02:00 UTC" in regression
    cause = "MPI library: Open MPI v4.1.4 -> Open MPI v5.0.1"
    assert regression.endswith(cause), "what changed weeks earlier is no cause"
    assert "2 metrics over time: 1 regression that has not recovered" in done.output
    assert "suspected" not in done.output, "what alarms needs no suspicion"
    [found] = json.loads(run("check-history", upgrade, "--json").stdout)["changes"]
    assert (found["metric"], found["processes"], found["since"][:10]) == ("b_eff", 2, "2026-01-31")
    assert (found["sessions"], found["alarm"]) == (6, True)
    assert found["relative"] == pytest.approx(-0.15, abs=0.03)
    assert run("check-history", upgrade, "--metric", "ping_pong_latency").exit_code == 0


def test_one_bad_session_is_suspected_and_does_not_alarm(tmp_path):
    stored = database(tmp_path / "results.db", nights([*steady(30), 700.0]))
    done = run("check-history", stored)
    assert done.exit_code == 0
    assert "suspected: b_eff on 2 processes" in done.output and "--repeat=3 -n '^b_eff%num_processes=2$'" in done.output
    confirmed = [*nights([*steady(30), 700.0]), *nights([995.0], first=31)]
    values = session_values(history_table(read_reports([write(tmp_path / "rerun", confirmed)])))
    assert suspicions(values, []).empty and not findings(values), "the rerun did not confirm it"


@pytest.mark.parametrize(
    "name", ["b_eff %num_processes=2 %.repeat_no=1", "b_eff %.nid=n1 %.part=a:b %num_processes=2", "b+(1)", "b_eff"]
)
def test_a_suspicion_is_confirmed_by_its_own_test_alone(name):
    """ReFrame filters before it repeats and distributes tests."""
    there = ["b_eff %num_processes=2", "b_eff %num_processes=24", "our_b_eff %num_processes=2", "b_eff", "b+(1)", "bb1"]
    cases = [SimpleNamespace(check=SimpleNamespace(display_name=each)) for each in there]
    [found] = filter(have_any_name([selecting(name)]), cases)
    assert found.check.display_name.split()[-1] in name.split()


def test_a_history_that_is_too_short_is_said_to_be_not_judged(tmp_path):
    done = run("check-history", database(tmp_path / "results.db", nights([1000.0, 500.0, 500.0])))
    assert done.exit_code == 0 and "1 of them not judged, with fewer than 12 sessions" in done.output


@pytest.mark.parametrize(("sessions", "said"), [(11, True), (12, False)])
def test_the_page_says_what_is_not_judged(tmp_path, sessions, said):
    page = tmp_path / "site.html"
    run("site", "report", database(tmp_path / "results.db", nights(steady(sessions))), "-o", page)
    words = "Not judged, because there are too few sessions: 1 of 1 metric over time."
    assert (words in page.read_text()) is said


@pytest.mark.parametrize(
    "values",
    [[*steady(9, 1.0), *steady(9, 3.0, seed=2)], [1 + 2 * number / 17 for number in range(18)]],
    ids=["at once", "steadily"],
)
def test_a_p99_latency_that_rises_from_1_to_3_ms_over_18_sessions_is_a_regression(tmp_path, values):
    made = nights(values, "read_latency_p99", "ms", benchmark="priomark")
    done = run("check-history", database(tmp_path / "results.db", made))
    assert done.exit_code == 1 and "REGRESSION: priomark read_latency_p99" in done.output
    falling = nights(values[::-1], "read_latency_p99", "ms", benchmark="priomark")
    assert run("check-history", database(tmp_path / "falling.db", falling)).exit_code == 0


def test_sessions_without_a_result_or_unreadable_ones_are_an_error_and_no_all_clear(tmp_path):
    for source, complaint in (
        (database(tmp_path / "empty.db", []), "there is no session in"),
        (tmp_path / "nowhere.db", "cannot be read"),
    ):
        done = run("check-history", source)
        assert done.exit_code == 2 and complaint in said(done)


def test_history_shows_every_series_and_what_happened(upgrade, tmp_path):
    done = run("history", upgrade, "--figures", tmp_path / "figures")
    assert done.exit_code == 0, done.output
    assert "b_eff ping_pong_latency on 2 processes of local:default+mpi (--time-budget 5): 36 sessions" in done.output
    assert "2026-01-31 02:00 UTC: MPI library: Open MPI v4.1.4 -> Open MPI v5.0.1" in done.output
    assert "2026-01-11 02:00 UTC: session firmware: 1 -> 2" in done.output
    suffixes = sorted(path.suffix for path in (tmp_path / "figures").iterdir())
    assert suffixes == [".csv"] * 2 + [".png"] * 2 + [".svg"] * 2
    rows = pd.read_csv(next((tmp_path / "figures").glob("*-b_eff.csv")))
    assert len(rows) == 36 and rows["value"].to_list()[:3] == pytest.approx(steady(30)[:3])
    table = run("history", upgrade, "--csv", "--metric", "b_eff").stdout.splitlines()
    assert len(table) == 37 and table[0].startswith("session,session_time,time")


def test_a_figure_that_cannot_be_written_leaves_the_earlier_one(upgrade, tmp_path, monkeypatch):
    def full(path, _):
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = ["history", upgrade, "--metric", "b_eff", "--figures", tmp_path]
    assert run(*words).exit_code == 0
    before = {path: path.stat().st_ino for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "write_bytes", full)
    done = run(*words)
    assert done.exit_code == 2 and "No space left on device" in said(done)
    assert {path: path.stat().st_ino for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("options", [["--csv"], ["--last"]], ids=str)
def test_figures_that_would_not_be_drawn_are_refused(upgrade, tmp_path, options):
    done = run("history", upgrade, *options, "--figures", tmp_path / "figures")
    assert done.exit_code == 2 and f"{options[0]}: do not use it with " in said(done), done.output


def test_a_figure_shows_each_size_with_its_reference(tmp_path):
    known = [{"b_eff": (value, 1000.0, -0.1, None, "MByte/s", "pass")} for value in steady(5)]
    judged = each_night(5, lambda n: [case(known[n], processes=size) for size in (2, 4, 8, 16, 32)])
    first, second = trends(session_values(table_of(tmp_path, judged)), [])
    assert [axis.get_title(loc="left") for axis in (*first.canvas.axes, *second.canvas.axes)] == [
        f"{size} processes" for size in (2, 4, 8, 16, 32)
    ]
    drawn = {line.get_label(): line.get_ydata() for line in first.canvas.axes[0].lines}
    assert set(drawn["reference"]) == {1000} and set(drawn["bounds"]) == {900}


def test_the_time_axis_of_a_single_session_is_two_days_long(tmp_path):
    [figure] = trends(values_of(tmp_path, nights([1000.0])), [])
    first, last = figure.canvas.axes[0].get_xlim()
    assert last - first == pytest.approx(2)


def test_newest_session_is_compared_with_the_earlier_ones(tmp_path):
    """By hand: 90 is a tenth below the median of 100, 110 and 90; ten sessions are needed."""
    values = [(100.0, 8.0), (110.0, 8.0), (90.0, 8.0), (90.0, 10.0)]

    def of_night(number):
        two, four = values[number]
        yield case({"ring_latency": (1.0, "us"), "b_eff": (two, "MByte/s")})
        yield case({"b_eff": (four, "MByte/s")}, processes=4)

    made = each_night(4, of_night)
    first = database(tmp_path / "first.db", made[:1])
    assert run("history", first, "--last").stdout.splitlines()[0] == (
        "b_eff on 2 processes of local:default+mpi (--time-budget 5): 100 MByte/s, the first session; a "
        "reference needs 9 more sessions"
    )
    done = run("history", database(tmp_path / "four.db", made), "--last")
    assert done.stdout.splitlines() == [
        f"b_eff on {size} processes of local:default+mpi (--time-budget 5): {value} MByte/s, {change} against "
        "the median of 3 earlier sessions; a reference needs 6 more sessions"
        for size, value, change in ((2, 90, "-10.0%"), (4, 10, "+25.0%"))
    ]
    enough = database(tmp_path / "ten.db", nights([100.0] * 10))
    assert "needs" not in run("history", enough, "--last").stdout


def test_the_site_of_the_programs_that_measure_the_history():
    """A file system loses a tenth at 2 % noise."""
    values = 1000 + 20 * np.random.default_rng(1).standard_normal((30, 45))
    values[:22, 40:] *= 0.9
    found = findings(bench_tables.session_table(values))
    assert {finding.series["file_system"] for finding in found if finding.alarms} == {"scratch"}

# SPDX-License-Identifier: Apache-2.0
"""`coffeecup plan`: the noise of sessions, what it lets the history detect, and the cheapest tests that do so."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from commands import run
from sessions_made import case, database, each_night, night, session, table_of

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.candidates import cost
from coffeecup.postprocess.history.change_points import Rule, Site, counted_runs, session_values, site_of
from coffeecup.postprocess.history.levels import Shift
from coffeecup.postprocess.history.noise import BLOCK, Noise, drawn_sessions, histories, noises, residuals, within
from coffeecup.postprocess.history.power import alarms, with_loss
from coffeecup.site_configs.common.planned_mode import ModeError, mode

HIGHER = Rule(Better.HIGHER)
QUICK = ("--minutes", "10", "--probability", "80")  # 100 histories
COMMAND = "reframe -C site.py -c reframe_checks -r --mode=nightly -S b_eff.time_budget=5"


def runs(number, values, seconds=60.0, processes=2, metrics=None, **variables):
    """The test cases of one test in a session, a repeat for each value."""
    common = {"processes": processes, "time_run": seconds, "scheduler": "local"} | variables
    names = [f" %.repeat_no={place}" if len(values) > 1 else "" for place in range(len(values))]
    return [
        case(metrics or {"b_eff": (value, "MByte/s")}, **common) | {"name": f"b_eff %num_processes={processes}{repeat}"}
        for value, repeat in zip(values, names)
    ]


def stored(path, tests, cmdline=COMMAND):
    """A database of sessions; `tests`: seconds, processes and the values (sessions, repeats) of each."""
    made = []
    for number in range(len(tests[0][2])):
        cases = [one for seconds, size, values in tests for one in runs(number, values[number], seconds, size)]
        made.append(session(cases, night(number), cmdline=cmdline))
    return database(path, made)


def noisy(spread, sessions=40, repeats=1, within=0.0, seed=1):
    rng = np.random.default_rng(seed)
    between = spread * rng.standard_normal((sessions, 1))
    return 1000 * (1 + between + within * rng.standard_normal((sessions, repeats)))


def planned(path, *options, code=0):
    done = run("plan", path, "--json", *QUICK, *options)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


# --- noise ------------------------------------------------------------------------------------------------------------


def test_deviations_are_relative_to_each_level_and_leave_out_what_is_beside_a_change():
    """Two levels, 10 sessions of each, alternating by 1 % around them: nine count, and one degree of freedom is the
    level's."""
    signs = np.tile([1.0, -1.0], 10)
    values = np.repeat([1000.0, 600.0], 10) * (1 + 0.01 * signs)
    rest = residuals(values, [Shift(10, 14, -9.0, drift=False, ended=10)])
    assert np.flatnonzero(np.isnan(rest)).tolist() == [9, 10]
    for part in (slice(0, 9), slice(11, 20)):
        level = 1 + 0.01 * signs[part].mean()
        expected = ((1 + 0.01 * signs[part]) / level - 1) * np.sqrt(9 / 8)
        assert rest[part] == pytest.approx(expected, rel=1e-12)


def test_drift_is_no_noise():
    values = 1000 - 5.0 * np.arange(30)
    assert residuals(values, [Shift(0, 20, -9.0, drift=True, ended=20)]) == pytest.approx(np.zeros(30), abs=1e-12)
    assert np.std(residuals(values, [])) > 0.04


@pytest.mark.parametrize(("values", "known"), [(np.zeros(20), 0), (-np.ones(20), 0), (np.ones(3), 0), (np.ones(4), 4)])
def test_level_that_cannot_lose_a_share_or_is_too_short_tells_no_noise(values, known):
    assert np.isfinite(residuals(values, [])).sum() == known


def test_sessions_are_drawn_with_their_neighbours():
    """A new block begins every 14 nights, in each draw at another night; the chance that it continues is 1 in 30."""
    drawn = drawn_sessions(30, (3000, 2 * BLOCK), np.random.default_rng(1))
    assert drawn.shape == (3000, 28) and set(drawn.ravel()) == set(range(30))
    follows = np.diff(drawn, axis=1) % 30 == 1
    assert follows.mean(axis=0) == pytest.approx(1 - 29 / 30 / 14, abs=0.02)
    ends = [np.flatnonzero(~row) for row in follows]
    assert all(len(row) <= 2 and (np.diff(row) == 14).all() for row in ends)


def noise_of(values):
    """Of one level; the values (sessions, repeats)."""
    sessions = np.repeat(np.arange(len(values)), values.shape[1])
    within_sessions = within(pd.DataFrame({"session": sessions, "value": values.ravel()}))
    return Noise({}, HIGHER, residuals(np.median(values, axis=1), []), within_sessions, values.shape[1])


@pytest.mark.parametrize(("repeats", "left"), [(1, 1.0), (3, 0.4487), (5, 0.2868)])
def test_repeats_reduce_the_noise_within_a_session_alone(repeats, left):
    """The variance of the median of 3 and 5 normal values is 0.4487 and 0.2868 of that of one (David and Nagaraja,
    Order Statistics, 2003); sessions differ by 2 %, runs by 6 %, and 1000 sessions of 3 runs tell it."""
    noise = noise_of(noisy(0.02, sessions=1000, repeats=3, within=0.06))
    assert np.std(noise.runs) == pytest.approx(0.06, rel=0.05)
    rng = np.random.default_rng(1)
    made = histories(noise, drawn_sessions(1000, (300, 100), rng), repeats, rng)
    assert np.std(made) == pytest.approx(np.sqrt(0.02**2 + left * 0.06**2), rel=0.05)


def test_as_many_repeats_as_the_sessions_had_need_no_model():
    """Not even of which part of the noise is within sessions."""
    noise = noise_of(noisy(0.02, repeats=3, within=0.06))
    rng = np.random.default_rng(1)
    drawn = drawn_sessions(40, (5, 40), rng)
    assert (histories(noise, drawn, 3, rng) == 1 + noise.sessions[drawn]).all()


def test_without_repeats_their_effect_is_unknown_and_none_is_assumed():
    noise = noise_of(noisy(0.03))
    rng = np.random.default_rng(1)
    drawn = drawn_sessions(40, (50, 40), rng)
    assert len(noise.runs) == 0
    assert (histories(noise, drawn, 1, rng) == histories(noise, drawn, 8, rng)).all()


@pytest.mark.parametrize(("sessions", "known"), [(7, 0), (8, 16)])
def test_eight_sessions_with_repeats_tell_their_effect(sessions, known):
    assert len(noise_of(noisy(0.03, sessions, repeats=2, within=0.01)).runs) == known


@pytest.mark.parametrize(("level", "counts"), [(1.0, True), (0.0, False), (-1.0, False)])
def test_sessions_whose_runs_have_no_positive_mean_tell_no_fraction(level, counts):
    """Eight sessions with two runs each are enough; a ninth one has this level."""
    values = pd.DataFrame({"session": np.repeat(np.arange(8), 2), "value": [1.0, 1.02] * 8})
    more = pd.DataFrame({"session": [8, 8], "value": [level, level]})
    assert len(within(pd.concat([values, more], ignore_index=True))) == (18 if counts else 16)
    few = values[values["session"] < 7]
    assert len(within(pd.concat([few, more], ignore_index=True))) == (16 if counts else 0)


def test_noise_of_sessions(tmp_path):
    """What a table of sessions leads to: their medians around the level, and their runs around their mean."""
    values = noisy(0.03, sessions=20, repeats=3, within=0.02)
    table = table_of(tmp_path, [session(runs(n, row), night(n)) for n, row in enumerate(values)])
    [noise] = noises(site_of(session_values(table)).levels, counted_runs(table))
    expected = noise_of(values)
    assert noise.repeats == 3 and noise.known == 20
    assert noise.sessions == pytest.approx(expected.sessions) and noise.runs == pytest.approx(expected.runs)


def test_session_without_a_value_is_replaced():
    noise = Noise({}, HIGHER, np.array([0.1, np.nan, 0.2]), np.empty(0), 1)
    rng = np.random.default_rng(1)
    made = histories(noise, np.array([[0, 1, 2] * 20]), 1, rng)
    assert set(np.round(made[0, 1::3], 9)) == {1.1, 1.2} and (made[0, ::3] == 1.1).all()


# --- power ------------------------------------------------------------------------------------------------------------


def test_loss_makes_a_metric_worse_from_a_night_on():
    values = np.ones((1, 4))
    assert with_loss(values, HIGHER, 2, 0.1).tolist() == [[1, 1, 0.9, 0.9]]
    assert with_loss(values, Rule(Better.LOWER), 2, 0.1).tolist() == [[1, 1, 1.1, 1.1]]
    assert values.tolist() == [[1, 1, 1, 1]]


def test_what_alarms_is_what_the_history_calls_a_regression():
    """Without noise: a loss lasting 4 nights alarms, for 3 nights it does not; a gain never does, nor a loss that was
    detected before."""
    steady, site = np.ones((1, 28)), Site([], 4.0, None)
    for nights, rule, loss, before, alarmed in (
        (4, HIGHER, 0.1, 24, True),
        (3, HIGHER, 0.1, 24, False),
        (4, HIGHER, -0.1, 24, False),
        (4, Rule(Better.LOWER), 0.1, 24, True),
        (4, Rule(Better.UNKNOWN), -0.1, 24, True),
        (10, HIGHER, 0.1, 24, False),
        (4, HIGHER, 0.01, 24, False),
        (4, HIGHER, 0.1, 27, True),  # detected after the 28th night, so after more than 27
        (4, HIGHER, 0.1, 28, False),
    ):
        values = with_loss(steady, rule, 28 - nights, loss)
        assert alarms(values, rule, site, before).tolist() == [alarmed], (nights, rule, loss)


# --- the command ------------------------------------------------------------------------------------------------------


def test_series_without_noise_detect_everything_with_the_cheapest_test(tmp_path):
    steady = np.full((20, 1), 1000.0)
    path = stored(tmp_path / "r.db", [(60, 2, steady), (20, 4, steady), (30, 8, steady)])
    made = planned(path)
    assert [(row["test"], row["chosen"]) for row in made["tests"]] == [
        ("b_eff %num_processes=2", False),
        ("b_eff %num_processes=4", True),
        ("b_eff %num_processes=8", False),
    ]
    assert all(row["power"]["value"] == 1 and row["false_alarms"]["value"] == 0 for row in made["tests"])
    assert (made["repeats"], made["seconds"], made["reached"]) == (1, 20, True)
    options = ["-n '^b_eff%num_processes=4$'", "--repeat=1", "-S b_eff.time_budget=5", "--max-retries=2"]
    assert made["mode"]["options"] == options


@pytest.mark.parametrize(("minutes", "code"), [("1", 0), ("0.98333", 1)])
def test_time_is_met_exactly_and_missed_by_a_second(tmp_path, minutes, code):
    made = planned(stored(tmp_path / "r.db", [(60, 2, np.full((20, 1), 1000.0))]), "--minutes", minutes, code=code)
    assert made["reached"] == (code == 0) and (made["mode"] == {}) == bool(code) and made["seconds"] == 60


def test_too_much_noise_finds_nothing(tmp_path):
    done = run("plan", stored(tmp_path / "r.db", [(60, 2, np.abs(noisy(0.5)))]), *QUICK)
    assert done.exit_code == 1 and "NO SET of tests" in done.output and '"options"' not in done.output
    [power] = re.findall(r"^NOT REACHED: b_eff on one node of default\+mpi: ([\d.]+) %", done.output, re.MULTILINE)
    assert float(power) < 10


@pytest.mark.parametrize(("sessions", "code"), [(19, 2), (20, 0)])
def test_too_few_sessions_are_refused_with_how_many_are_missing(tmp_path, sessions, code):
    path = stored(tmp_path / "r.db", [(60, 2, np.full((sessions, 1), 1000.0))])
    done = run("plan", path, *QUICK)
    assert done.exit_code == code
    text = re.sub(r"[\s│]+", " ", done.output)
    assert code == 0 or ("b_eff: the noise is known from 20" in text and "there are 19, 1 are missing" in text)


def test_earlier_regression_is_no_noise(tmp_path):
    """The plan is the same as without it; the spread of all values would be 15 %."""
    values = noisy(0.02, repeats=3, within=0.02)
    lower = values * np.where(np.arange(40) < 20, 1, 0.75)[:, None]
    both = {"without": values, "with": lower}
    made = [planned(stored(tmp_path / f"{name}.db", [(60, 2, one)])) for name, one in both.items()]
    noise = [one["tests"][0]["noise"] for one in made]
    assert made[0]["mode"] == made[1]["mode"] and noise[1] == pytest.approx(noise[0], rel=0.15)
    assert np.std(lower) / np.mean(lower) > 0.14


def test_metric_that_cannot_be_planned_is_named_and_the_plan_is_not_enough(tmp_path):
    """b_eff_io has run in 5 sessions only."""
    few = case({"b_eff_io": (50.0, "MByte/s")}, benchmark="b_eff_io", time_run=9.0)
    sessions = each_night(20, lambda n: runs(n, [1000.0]) + [few] * (n > 14))
    done = run("plan", database(tmp_path / "r.db", sessions), *QUICK)
    assert done.exit_code == 1 and '"options"' in done.output
    assert "NOT PLANNED: b_eff_io on one node of default+mpi: the noise is known from 20" in done.output


def test_sessions_of_two_systems_are_refused(tmp_path):
    made = [session(runs(0, [1.0]) + runs(0, [1.0], system="other"), night(0))]
    done = run("plan", database(tmp_path / "r.db", made), *QUICK)
    assert done.exit_code == 2 and "--system" in done.output


@pytest.mark.parametrize(("scheduler", "seconds"), [("slurm", 60), ("local", 70)])
def test_in_a_queue_the_shortest_run_counts(scheduler, seconds):
    """The other ones may have waited. A case has a row for each metric, and other options are another test."""
    table = pd.DataFrame(
        {"seconds": [300.0, 60, 70, 70, 1], "case": list("abccd"), "settings": [*"xxxx", "y"], "hosts": "n1,n2"}
    ).assign(partition="p", environ="e", node="", scheduler=scheduler)
    assert cost(table, pd.DataFrame({"settings": ["x"]})) == ([seconds], [2])


# --- the mode ---------------------------------------------------------------------------------------------------------


def test_mode_keeps_what_says_how_tests_run():
    command = (
        "reframe -C a.py -c checks -r -n b_eff --tag=io --repeat=9 --max-retries=1 -S b_eff.time_budget=3 "
        "-Sb_eff_io.form=quick -S builder=cmake --setvar='b_eff.memory=a b' -P b_eff.num_processes=2,4 "
        "-J '#SBATCH --qos=q' --report-file=x"
    )
    made, unknown = mode("here", [("b_eff %num_processes=2", command)], 3)
    assert made == {
        "name": "here",
        "options": [
            "-n '^b_eff%num_processes=2$'",
            "--repeat=3",
            "-S b_eff.time_budget=3",
            "-S builder=cmake",
            "-S 'b_eff.memory=a b'",
            "-P b_eff.num_processes=2,4",
            "-J '#SBATCH --qos=q'",
            "--max-retries=1",
        ],
    }
    assert unknown == []


def test_mode_of_another_configuration_is_named():
    assert mode("here", [("t", "reframe --mode=theirs -r")], 1)[1] == ["theirs"]
    assert mode("here", [("t", "reframe --mode='open")], 1)[1] == []


def test_tests_that_ran_with_different_options_are_refused():
    tests = [(f"b_eff %num_processes={n}", f"reframe -S b_eff.time_budget={n}") for n in (2, 4)]
    with pytest.raises(ModeError, match=r"'b_eff.time_budget', 2 and 4"):
        mode("here", tests, 1)


CONFIGURATION = """site_configuration = {
    "systems": [{"name": "local", "hostnames": [".*"], "partitions": [
        {"name": "default", "scheduler": "local", "launcher": "mpirun", "environs": ["mpi"],
         "extras": {"cores_per_node": 4}}]}],
    "environments": [{"name": "mpi", "cc": "mpicc", "features": ["mpi"]}],
    "modes": [%s],
}
"""


def test_printed_mode_works_in_a_configuration(tmp_path, reframe):
    """ReFrame lists the chosen test at its size, once for each repeat."""
    path = stored(tmp_path / "r.db", [(10, 2, noisy(0.005, repeats=3, within=0.06, seed=3))])
    done = run("plan", path, *QUICK, "--name", "enough")
    assert done.exit_code == 0, done.output
    [printed] = re.findall(r"^\{$.*^\}$", done.stdout, re.MULTILINE | re.DOTALL)
    config = tmp_path / "settings.py"
    config.write_text(CONFIGURATION % printed)
    listed = reframe("-l", "--mode=enough", config=config)
    assert listed.returncode == 0 and "ERROR" not in listed.output, listed.output
    repeats = json.loads(printed)["options"][1]
    names = re.findall(r"^- (.*) /\w+", listed.output, re.MULTILINE)
    assert repeats in ("--repeat=2", "--repeat=3", "--repeat=5", "--repeat=8")
    assert len(names) == int(repeats[-1]) and all(n.startswith("b_eff %num_processes=2 %.repeat_no=") for n in names)

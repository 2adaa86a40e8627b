# SPDX-License-Identifier: Apache-2.0
"""Sessions before and after a change are judged by the noise of the history: a planted loss is found with its size,
equal sessions are called different as seldom as stated, and nothing is claimed from a history that is too short."""

from math import exp, inf, log

import numpy as np
import pytest
from commands import run, said
from sessions_made import case as made_case
from sessions_made import database, each_night, nights, steady, values_of

from coffeecup.postprocess.comparison.sessions import compare_sessions, differences_of_history, half_width
from coffeecup.postprocess.reports.comparisons import sentence


def judged(tmp_path, values, minimum=0.03, **variables):
    """The verdict on the last session beside the one before it."""
    table = values_of(tmp_path, nights(values, **variables))
    names = table["session"].tolist()
    [one] = compare_sessions(table, {"before": [names[-2]], "after": [names[-1]]}, [], minimum).verdicts
    return one


@pytest.mark.parametrize(("factor", "standing"), [(1.0, "same"), (0.9, "worse"), (1.1, "better")])
def test_a_planted_difference_is_found_with_its_size(tmp_path, factor, standing):
    history = steady(60, spread=0.005)
    found = judged(tmp_path, [*history, 1000.0, 1000.0 * factor]).verdict
    assert (found.standing, found.middle) == (standing, pytest.approx(factor))
    assert found.low <= factor <= found.high and 1.005 < found.high / found.middle < 1.03


def test_the_first_metric_is_the_one_that_the_benchmark_states_first(tmp_path):
    """PRIOMark's is the total; the losses `abl` and `acl` precede it in the alphabet only."""
    metrics = {"acl": (0.2, "1"), "abl": (0.1, "1"), "total": (100.0, "MByte/s")}
    table = values_of(tmp_path, each_night(25, lambda _: [made_case(metrics, benchmark="priomark")]))
    names = table["session"].unique().tolist()
    found = compare_sessions(table, {"before": [names[-2]], "after": [names[-1]]}, [], 0.03)
    assert [one.series["metric"] for one in found.verdicts] == ["total"] and not found.not_judged


def test_noise_that_hides_a_difference_that_matters_decides_nothing(tmp_path):
    """And nobody foresees how many sessions would."""
    one = judged(tmp_path, [*steady(60, spread=0.05), 1000.0, 1000.0])
    assert one.verdict.low < 0.97 and one.verdict.high > 1.03 and one.verdict.more_pairs is None
    assert "cannot tell [" in sentence(one) and "would" not in sentence(one)


@pytest.mark.parametrize(("count", "standing"), [(20, "worse"), (19, "open")])
def test_nineteen_pairs_of_the_history_are_the_fewest(tmp_path, count, standing):
    """A risk of 5 % needs that one of 20 differences exceeds the others."""
    one = judged(tmp_path, [*steady(count, spread=0.005), 1000.0, 800.0])
    assert (one.verdict.pairs, one.needed) == (count - 1, 19)
    assert one.verdict.standing == standing and (one.verdict.high is None) is (standing == "open")


def test_the_width_is_a_rank_of_the_differences():
    noise = np.array([-3.0, 1.0, 2.0, -0.5] + [0.0] * 35)
    assert half_width(noise, 0.05) == 2.0  # 2 of 40
    assert half_width(noise, 1 / 40) == 3.0
    assert half_width(noise, 1 / 41) == inf


def test_differences_have_the_distance_and_the_hosts_of_the_named_sessions():
    deviations = np.arange(8.0) ** 2
    hosts = np.array(list("aabbaabb"))
    pairs = differences_of_history(deviations, hosts, np.array([0]), np.array([1]))
    assert pairs.tolist() == [1.0, 5.0, 9.0, 13.0]  # on the same hosts, one session apart
    pairs = differences_of_history(deviations, hosts, np.array([1]), np.array([2]))
    assert pairs.tolist() == [3.0, 7.0, 11.0]
    reverse = differences_of_history(deviations, hosts, np.array([1]), np.array([0]))
    assert reverse.tolist() == [-1.0, -5.0, -9.0, -13.0]


def test_equal_sessions_are_seldom_called_different():
    """Noise with heavy tails: at most 5 % of 2,000 differences are beyond the limit, so that fewer than 6 % are."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(2000):
        noise = rng.standard_t(2, 62)
        history, hosts = np.append(noise[:60], [np.nan] * 2), np.full(62, "a")
        pairs = differences_of_history(history, hosts, np.array([60]), np.array([61]))
        missed += abs(noise[61] - noise[60]) > half_width(pairs, 0.05)
    assert 0.02 < missed / 2000 < 0.06


def test_the_command_names_sides_by_day_and_tells_what_changed(tmp_path):
    values = [*steady(40, spread=0.005), 800.0]

    def night(number):
        library = {"mpi_library": "new"} if number == 40 else {}
        return [made_case({"b_eff": (values[number], "MByte/s")}, **library)]

    stored = database(tmp_path / "results.db", each_night(41, night))
    done = run("compare", stored, "--sessions", "2026-02-07,2026-02-08,2026-02-09", "2026-02-10")
    assert done.exit_code == 0, done.output
    middle = exp(log(800) - np.mean(np.log(values[37:40]))) - 1
    assert f"after beside before: worse by {-100 * middle:.2g} % [" in done.stdout
    assert "Open MPI v4.1.4" in done.stdout and "new" in done.stdout
    again = run("compare", stored, "--sessions", "2026-02-10", "2026-02-10")
    assert again.exit_code == 2 and "on both sides" in said(again)
    useless = run("compare", stored, "--sessions", "2026-02-09", "2026-02-10", "--pairs", "6")
    assert useless.exit_code == 2 and "use --metric and --minimum alone" in said(useless)


def test_a_test_without_a_value_on_one_side_is_not_passed_over(tmp_path):
    """Here b_eff_io fails after the change, and b_eff on 8 processes is new: b_eff alone has not changed."""
    values = steady(61, spread=0.005)

    def night(number):
        made = made_case({"b_eff": (values[number], "MByte/s")})
        last = made_case({"b_eff": (1000.0, "MByte/s")}, processes=8)
        return [made, last if number == 60 else made_case({"b_eff_io": (10.0, "MByte/s")}, benchmark="b_eff_io")]

    words = ["compare", database(tmp_path / "results.db", each_night(61, night)), "--sessions", "2026-03-01"]
    done = run(*words, "2026-03-02")
    assert done.exit_code == 1 and "after beside before: no difference above 3 %" in done.stdout
    new, gone = sorted(line for line in done.stdout.splitlines() if ": cannot tell: " in line)
    assert new.startswith("b_eff on 8 ") and new.endswith(": no value before")
    assert gone.startswith("b_eff_io on 2 ") and gone.endswith(": no value after")
    assert run(*words, "2026-02-28").exit_code == 0

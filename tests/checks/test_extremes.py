# SPDX-License-Identifier: Apache-2.0
"""`-S history=results.db`: real sessions of ReFrame in which a value that is extreme for the site fails its test at
once."""

import logs_made
import pytest
from check_runs import references
from logs_made_b_eff import b_eff_log
from other_suite import later
from sessions_made import database, night

CHECKS_OF = "b_eff"
SPREAD = 0.01 * 2 / 1.349  # of values that alternate by 1 %, by their quartiles


@pytest.fixture
def gated(reframe, kernel_that, tmp_path):
    """A session whose values are 1 / `factor` of the level of 20 nights, of copies of a real session."""
    made = logs_made.write(tmp_path / "made.jsonl", b_eff_log(ranks=2, nodes=1))
    options = ["-r", "-n", "b_eff%num_processes=2$", *kernel_that(f'cp {made} "$log"')]
    entries = {"local:default": {2: {"b_eff": [1e9, -0.1, None, "MByte/s"]}}}
    options += references(tmp_path, "b_eff", entries, ["$partition", "num_processes"])

    def run(factor=None, count=20):
        first = reframe(*options)
        assert first.returncode == 1, "the fixed bound fails"
        nights = [later(first.report, night(number)) for number in range(count)]
        for number, report in enumerate(nights):
            for case in report["runs"][0]["testcases"]:
                for key, entry in case["perfvalues"].items():
                    case["perfvalues"][key] = [entry[0] * factor * (1.01 if number % 2 else 0.99), *entry[1:]]
        stored = database(tmp_path / "history.db", nights)
        return reframe(*options, "-S", f"history={stored}")

    return run


def test_a_value_within_the_noise_of_the_site_passes_instead_of_a_fixed_bound(gated):
    session = gated(1.06)
    [case] = session.cases
    assert session.returncode == 0 and case["reference_status"] == "limit from the history", session.output
    value, reference, lower, upper, *_ = case["perfvalues"]["local:default:b_eff"]
    assert (reference / value, lower, upper) == (pytest.approx(1.06), pytest.approx(-4.5 * SPREAD), None)
    assert 1.06 * (1 + lower) < 1, "0.989"
    assert case["perfvalues"]["local:default:ping_pong_latency"][2:4] == [None, pytest.approx(4.5 * SPREAD)]


def test_a_value_that_is_extreme_for_the_site_fails(gated):
    session = gated(1.08)
    [case] = session.cases
    assert 1.08 * (1 - 4.5 * SPREAD) > 1
    assert session.returncode == 1 and case["fail_phase"] == "performance" and "b_eff=" in case["fail_reason"]
    assert "ping_pong_latency=" not in case["fail_reason"], "lower is better"


def test_too_few_sessions_leave_the_bounds_of_the_file(gated):
    session = gated(1.0, count=11)
    assert session.returncode == 1 and session.cases[0]["reference_status"] == "reference for some metrics"
    assert "0 of " in session.output and "metrics have a limit from" in session.output


def test_a_history_that_cannot_be_read_fails_the_test(reframe, kernel_that, tmp_path):
    made = logs_made.write(tmp_path / "made.jsonl", b_eff_log(ranks=2, nodes=1))
    options = ["-r", "-n", "b_eff%num_processes=2$", *kernel_that(f'cp {made} "$log"')]
    session = reframe(*options, "-S", "history=none.db")
    assert session.returncode == 1 and "history: " in session.cases[0]["fail_reason"], session.output

# SPDX-License-Identifier: Apache-2.0
"""`-S history=results.db`: real sessions of ReFrame in which a value that is extreme for the site fails its test at
once."""

import logs_made
import pytest
import yaml
from check_runs import references, values
from conftest import CHECKS, Reframe, kernel_of
from logs_made_b_eff import averaged_log, steady
from other_suite import later
from sessions_made import database, night, values_of

CHECKS_OF = "b_eff"
SPREAD = 0.01 * 2 / 1.349  # of values that alternate by 1 %, by their quartiles


def options_of(folder, script):
    """Options of a session of b_eff on two processes, whose kernel is this script, beside a fixed bound that it
    misses."""
    entries = {"local:default": {2: {"b_eff": [1e9, -0.1, None, "MByte/s"]}}}
    bound = references(folder, "b_eff", entries, ["$partition", "num_processes"])
    return ["-r", "-n", "b_eff%num_processes=2$", *kernel_of(folder, script), *bound]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A folder with a usual log, and with a slow one: half of the bandwidth, twice the latency."""
    folder = tmp_path_factory.mktemp("logs")
    for name, bandwidth in {"usual": steady(), "slow": steady(4e-6, 0.5e9)}.items():
        logs_made.write(folder / f"{name}.jsonl", averaged_log(ranks=2, nodes=1, bandwidth=bandwidth))
    return folder


@pytest.fixture(scope="module")
def fixed(logs, tmp_path_factory):
    """The report of a session without a history."""
    folder = tmp_path_factory.mktemp("fixed")
    session = Reframe(folder, CHECKS / "b_eff.py")(*options_of(folder, f'cp {logs}/usual.jsonl "$log"'))
    assert session.returncode == 1, "the fixed bound fails"
    return session.report


@pytest.fixture
def gated(reframe, fixed, logs, tmp_path):
    """A session whose values are 1 / `factor` of the level of 20 nights, of copies of a real session. From night
    `since` on, b_eff is `late` times as high. The first run may be `slow`."""

    def run(factor, *more, count=20, since=99, late=1.0, slow=False):
        nights = [later(fixed, night(number)) for number in range(count)]
        for number, report in enumerate(nights):
            for case in report["runs"][0]["testcases"]:
                for key, entry in case["perfvalues"].items():
                    level = factor * (late if number >= since and key.endswith(":b_eff") else 1)
                    case["perfvalues"][key] = [entry[0] * level * (1.01 if number % 2 else 0.99), *entry[1:]]
        stored = database(tmp_path / "history.db", nights)
        if slow:
            tmp_path.joinpath("first").write_text("slow")
        script = f'cp {logs}/$(cat {tmp_path}/first || echo usual).jsonl "$log"\nrm -f {tmp_path}/first'
        return reframe(*options_of(tmp_path, script), "-S", f"history={stored}", *more)

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


@pytest.mark.parametrize(("factor", "result"), [(1.06, "pass"), (1.08, "fail")])
def test_a_retry_decides_about_an_extreme_value(gated, tmp_path, factor, result):
    """Its value is compared with the same limit. The history counts the retry alone."""
    session = gated(factor, "--max-retries=1", slow=True)
    assert [case["result"] for case in session.cases] == ["fail", result], session.output
    assert (session.returncode == 0) is (result == "pass")
    assert {case["reference_status"] for case in session.cases} == {"limit from the history"}
    first, second = (case["perfvalues"]["local:default:b_eff"] for case in session.cases)
    assert first[0] < 0.6 * second[0] and first[1:4] == second[1:4]
    values = values_of(tmp_path, [session.report], "retried.db")
    assert values.loc[values["metric"] == "b_eff", "value"].tolist() == [second[0]]


def known(tmp_path, **entry):
    """The option for a site's file of one entry."""
    path = tmp_path / "known.yaml"
    path.write_text(yaml.safe_dump([{"system": "local", "who": "operator", "why": "a test"} | entry]))
    return "-S", f"acknowledged={path}"


@pytest.mark.parametrize(("end", "code"), [("2026-01-13 01:00:00", 1), ("2026-01-20 04:00:00", 0)])
def test_sessions_in_maintenance_tell_no_limit(gated, tmp_path, end, code):
    """8 of 20 nights have 1.2 times the usual values, from 2026-01-13 02:00 on."""
    maintenance = known(tmp_path, kind="maintenance", begin="2026-01-13 00:00:00", end=end)
    session = gated(1.0, *maintenance, since=12, late=1.2)
    assert session.returncode == code, session.output


@pytest.mark.parametrize(("at_most", "code"), [(0.05, 1), (0.08, 0)])
def test_an_announced_loss_may_be_as_large_as_stated(gated, tmp_path, at_most, code):
    """The value is 1 - 1 / 1.08 = 7.4 % below the level."""
    window = {"begin": "2026-01-18", "end": "2099-01-01"}
    session = gated(1.08, *known(tmp_path, kind="expected", direction="worse", at_most=at_most, **window))
    assert session.returncode == code, session.output


def test_a_smallest_change_of_the_site_that_is_larger_than_its_noise_is_the_limit(gated, tmp_path):
    thresholds = tmp_path / "thresholds.yaml"
    thresholds.write_text(yaml.safe_dump([{"benchmark": "b_eff", "smallest_change": 0.1}]))
    assert gated(1.08, "-S", f"thresholds={thresholds}").returncode == 0


def test_too_few_sessions_leave_the_bounds_of_the_file(gated):
    session = gated(1.0, count=11)
    assert session.returncode == 1 and session.cases[0]["reference_status"] == "reference for some metrics"
    assert "0 of " in session.output and "metrics have a limit from" in session.output


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        (["history=none.db"], "history: "),
        (["acknowledged=known.yaml"], "`acknowledged` and `thresholds` require `history`"),
        (["history=.", "acknowledged=none.yaml"], "none.yaml: cannot be read"),
    ],
)
def test_files_that_cannot_be_used_fail_the_test(reframe, kernel_that, tmp_path, variables, reason):
    made = logs_made.write(tmp_path / "made.jsonl", averaged_log(ranks=2, nodes=1))
    session = reframe("-r", "-n", "b_eff%num_processes=2$", *kernel_that(f'cp {made} "$log"'), *values(*variables))
    assert session.returncode == 1 and reason in session.cases[0]["fail_reason"], session.output

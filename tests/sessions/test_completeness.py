# SPDX-License-Identifier: Apache-2.0
"""Tests that have no value: failed, skipped, not run; against histories with known gaps."""

import json
import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import logs_made
import pandas as pd
import pytest
from commands import run
from logs_made_b_eff import averaged_log
from sessions_made import case, database, each_night, night, session

from coffeecup.postprocess.history.cases import selection
from coffeecup.postprocess.history.change_points import session_values
from coffeecup.postprocess.history.completeness import completeness, without_value
from coffeecup.postprocess.history.standing import standing
from coffeecup.postprocess.history.table import case_table, history_table
from coffeecup.postprocess.sessions.files import read_reports

CHECKS_OF = "b_eff"
GOOD = {"b_eff": (1000.0, "MByte/s")}
CRASH = {"result": "fail", "fail_phase": "sanity", "fail_reason": "no log was written; mpirun died"}
NIGHTLY = "reframe --mode=nightly -r"


def good(processes=2, **more):
    return case(GOOD, processes=processes, **more)


def crashed(processes=2, **more):
    return case({}, processes=processes, **CRASH, **more)


def history(tmp_path, *nights, name="results.db"):
    """A database with a session for each list of cases, a night each."""
    return database(tmp_path / name, each_night(len(nights), nights.__getitem__, cmdline=NIGHTLY))


def state(source, processes=2, expected=None):
    """(state, sessions without a value, begin of the first, session of the last value, reason) of b_eff at a size."""
    table = completeness(case_table(read_reports([source])), expected)
    [row] = table[table["processes"] == processes].itertuples()
    return row.state, row.sessions, row.since, row.last_value, row.reason


def verdicts(tmp_path, *sessions):
    """Verdict and trend of b_eff by options of the kernel."""
    reports = read_reports([database(tmp_path / f"{len(sessions)}.db", list(sessions))])
    table = standing(session_values(history_table(reports)), [], case_table(reports))
    return dict(zip(table["settings"], zip(table["verdict"], table["trend"])))


def test_a_crash_in_a_session_with_another_command_leaves_no_series_green(tmp_path):
    """Such as one with other options of ReFrame, which is compared with no other session."""
    good_nights = each_night(10, lambda _: [good()], cmdline=NIGHTLY)
    other = session([crashed()], night(10), cmdline=f"{NIGHTLY} -S builder=prebuilt")
    assert verdicts(tmp_path, *good_nights) == {"--time-budget 5": ("no reference", "too few sessions")}
    stopped = ("no value", "no value since 2026-01-11")
    assert verdicts(tmp_path, *good_nights, other) == {"--time-budget 5": stopped}


def test_a_crash_is_none_of_a_series_that_other_options_replaced(tmp_path):
    longer = ["--log", "b_eff.jsonl", "--time-budget", "9"]
    nights = [[good()], [good(executable_opts=longer)], [crashed(executable_opts=longer)]]
    made = [session(cases, night(number), cmdline=f"{NIGHTLY} -S x={number}") for number, cases in enumerate(nights)]
    assert verdicts(tmp_path, *made) == {
        "--time-budget 5": ("no reference", "too few sessions"),
        "--time-budget 9": ("no value", "no value since 2026-01-03"),
    }


def test_benchmark_that_crashes_for_twenty_nights_is_named_everywhere(tmp_path):
    """The values of the good nights before are steady."""
    stored = history(tmp_path, *[[good()]] * 20, *[[crashed()]] * 20)
    assert state(stored) == ("failed", 20, night(20), night(19), CRASH["fail_reason"])

    done = run("check-history", stored)
    assert done.exit_code == 1
    assert (
        "NO VALUE: b_eff %num_processes=2 on local:default+mpi: failed for 20 sessions, since 2026-01-21 02:00 UTC; "
        "last value: 2026-01-20 02:00 UTC: no log was written; mpirun died" in done.stdout
    )
    assert "40 sessions, 1 test, 1 of them without a value; 1 metric over time: 0 regressions" in done.stdout
    [missing] = json.loads(run("check-history", stored, "--json").stdout)["missing"]
    assert (missing["state"], missing["sessions"], missing["since"]) == ("failed", 20, "2026-01-21T02:00:00+00:00")

    page = tmp_path / "site.html"
    assert run("site", "report", stored, "-o", page).exit_code == 0
    text = page.read_text()
    assert text.index("no value</span>") < text.index("failed for 20 sessions") < text.index("<table ")
    assert "no value since 2026-01-21" in text and "steady" not in text

    metrics, junit = tmp_path / "metrics", tmp_path / "junit.xml"
    assert run("export", stored, "--openmetrics", metrics, "--junit", junit).exit_code == 0
    samples = dict(line.rsplit(" ", 1) for line in metrics.read_text().splitlines() if not line.startswith("#"))
    assert [value for name, value in samples.items() if name.startswith("coffeecup_failed{")] == ["1.0"]
    gaps = [value for name, value in samples.items() if name.startswith("coffeecup_sessions_without_value{")]
    assert gaps == ["20.0"]
    assert len(ElementTree.parse(junit).findall("testsuite/testcase/failure")) == 20


def test_benchmark_that_never_had_a_value_is_named(tmp_path):
    stored = history(tmp_path, [crashed()], [crashed()])
    assert state(stored)[:2] == ("failed", 2)
    done = run("check-history", stored)
    assert done.exit_code == 1 and "last value: never" in done.stdout
    assert "no selected session has a value" in run("site", "report", stored).output
    said = "NO VALUE: b_eff %num_processes=2 on local:default+mpi"
    assert all(run("history", stored, *option).stdout.startswith(said) for option in ([], ["--last"]))
    metrics, junit = tmp_path / "metrics", tmp_path / "junit.xml"
    done = run("export", stored, "--openmetrics", metrics, "--junit", junit)
    assert done.exit_code == 0, done.output
    assert re.search(r"^coffeecup_sessions_without_value{.*} 2\.0$", metrics.read_text(), re.MULTILINE)
    assert len(ElementTree.parse(junit).findall("testsuite/testcase/failure")) == 2


def test_one_value_after_the_failures_is_enough(tmp_path):
    stored = history(tmp_path, [good()], [crashed()], [good()])
    assert state(stored)[:2] == ("measured", 0)
    assert run("check-history", stored).exit_code == 0
    assert state(history(tmp_path, [good()], [crashed()], name="first.db"))[3] == night(0)
    again = [crashed() | {"run_index": 0}, good() | {"run_index": 1}]  # --max-retries
    assert state(history(tmp_path, [good()], again, name="retried.db"))[0] == "measured"


def test_repetitions_are_one_test(tmp_path):
    name = "b_eff %num_processes=2 %.repeat_no="
    repeated = [good() | {"name": f"{name}0"}, crashed() | {"name": f"{name}1"}]
    stored = history(tmp_path, repeated)
    assert state(stored) == ("measured", 0, pd.NaT, night(0), "")
    both = [crashed() | {"name": f"{name}{number}"} for number in (0, 1)]
    assert "NO VALUE: b_eff %num_processes=2 on" in run("history", history(tmp_path, both, name="crashed.db")).stdout
    planned = case_table(read_reports([history(tmp_path, repeated, name="planned.db")])).assign(processes=4, system="b")
    assert len(completeness(case_table(read_reports([stored])), planned)) == 2


def test_test_that_is_missing_from_the_newest_session_did_not_run(tmp_path):
    both, one = [good(2), good(4)], [good(2)]
    stored = history(tmp_path, both, both, one)
    assert state(stored, 4) == ("not run", 1, night(2), night(1), "")
    assert state(stored, 2)[0] == "measured"
    assert run("check-history", stored).exit_code == 1
    junit = tmp_path / "junit.xml"
    run("export", stored, "--junit", junit)
    suites = ElementTree.parse(junit).findall("testsuite")
    assert [suite.get("errors") for suite in suites] == ["0", "0", "1"]
    [error] = suites[-1].findall("testcase/error")
    assert "not run for 1 session" in error.get("message")
    assert suites[-1].get("tests") == str(len(suites[-1].findall("testcase"))) == "2"


@pytest.mark.parametrize(("later", "expected"), [(6, ("measured", 0)), (7, ("not run", 7))])
def test_weekly_test_is_missed_after_a_week(tmp_path, later, expected):
    week = [[good(2), good(4)], *[[good(2)]] * 6]
    assert state(history(tmp_path, *week, [good(2), good(4)], *[[good(2)]] * later), 4)[:2] == expected


def test_earlier_gap_does_not_excuse_a_later_one(tmp_path):
    both, one = [good(2), good(4)], [good(2)]
    stored = history(tmp_path, *[both] * 5, *[one] * 20, *[both] * 5, one)
    assert state(stored, 4)[:2] == ("not run", 1)


def test_failures_and_sessions_without_the_test_count_together(tmp_path):
    both = [good(2), good(4)]
    stored = history(tmp_path, both, both, [good(2), crashed(4)], [good(2)], [good(2)])
    assert state(stored, 4) == ("not run", 3, night(2), night(1), CRASH["fail_reason"])


def test_test_is_missed_in_every_selection_that_had_it(tmp_path):
    made = []
    for number in range(6):
        sizes = (2, 4) if number < 4 else (2,)
        cmdline = NIGHTLY if number % 2 else "reframe --mode=smoke -r"
        made.append(session([good(size) for size in sizes], night(number), cmdline=cmdline))
    assert state(database(tmp_path / "results.db", made), 4)[:3] == ("not run", 2, night(4))


def test_value_outside_its_bounds_is_no_reason_for_a_later_gap(tmp_path):
    slow = case({"b_eff": (1.0, 9.0, -0.1, None, "MByte/s", "fail")}, processes=4, result="fail", fail_reason="slow")
    both = [good(2), slow]
    assert state(history(tmp_path, both, both, [good(2)]), 4) == ("not run", 1, night(2), night(1), "")


def test_session_with_another_selection_misses_nothing(tmp_path):
    both = each_night(3, lambda _: [good(2), good(4)], cmdline=NIGHTLY)
    by_hand = session([good(2)], night(3), cmdline="reframe -n b_eff -r")
    assert state(database(tmp_path / "hand.db", [*both, by_hand]), 4)[0] == "measured"
    nightly = session([good(2)], night(3), cmdline=NIGHTLY)
    assert state(database(tmp_path / "nightly.db", [*both, nightly]), 4)[0] == "not run"


def test_value_that_was_measured_by_hand_ends_a_gap(tmp_path):
    nights = [session([good()], night(0), cmdline=NIGHTLY), session([crashed()], night(1), cmdline=NIGHTLY)]
    by_hand = session([good()], night(2), cmdline="reframe -n b_eff -r")
    assert state(database(tmp_path / "results.db", [*nights, by_hand]))[0] == "measured"


@pytest.mark.parametrize(
    ("cmdline", "expected"),
    [
        (".venv/bin/reframe -C a.py -r --mode=scaling --prefix=o --report-file=s.json", "-C a.py -r --mode=scaling"),
        ("reframe --prefix output/1 -C a.py --session-extras firmware=1.2 -o out -s stage -r", "-C a.py -r"),
        ("", ""),
    ],
)
def test_selection_is_what_sessions_have_in_common(cmdline, expected):
    assert selection(cmdline) == expected


def test_test_that_ran_once_is_expected_only_if_it_is_on_a_list(tmp_path):
    stored = history(tmp_path, [good(2), good(4)], [good(2)], [good(2)])
    assert state(stored, 4)[0] == "measured"
    planned = tmp_path / "planned.json"
    planned.write_text(json.dumps(session([case({}, processes=size) for size in (2, 8)])))
    done = run("check-history", stored, "--expected", planned)
    assert done.exit_code == 1
    assert "b_eff %num_processes=8 on local:default+mpi: not run for 3 sessions; last value: never" in done.stdout
    expected = case_table(read_reports([planned]))
    assert state(stored, 8, expected) == ("not run", 3, pd.NaT, pd.NaT, "")
    assert state(history(tmp_path, [good(2), good(8)], [good(2)], name="two.db"), 8, expected)[:2] == ("not run", 1)
    planned.write_text(json.dumps(session([case({}, processes=size) for size in (2, 4)])))
    done = run("check-history", stored, "--expected", planned)
    assert done.exit_code == 1
    assert "b_eff %num_processes=4 on local:default+mpi: not run for 2 sessions, since 2026-01-02" in done.stdout
    planned.write_text(json.dumps(session([case({}, processes=2)])))
    assert run("check-history", stored, "--expected", planned).exit_code == 0


def test_dry_run_is_no_failure(tmp_path):
    stored = history(tmp_path, [good()], [case({})])
    assert state(stored) == ("measured", 0, *state(stored)[2:])
    assert run("check-history", stored).exit_code == 0


def test_skipped_test_has_no_value(tmp_path):
    stored = history(tmp_path, [good()], [case({}, result="skip", fail_reason="longer than the partition allows")])
    assert state(stored)[:2] == ("skipped", 1)
    assert "longer than the partition allows" in run("check-history", stored).stdout


def test_test_that_every_session_skips_is_none_of_the_site(tmp_path):
    """As one that needs more time than a partition grants."""
    skipped = case({}, processes=4, result="skip", fail_reason="longer than the partition allows")
    stored = history(tmp_path, *[[good(2), skipped]] * 3)
    done = run("check-history", stored)
    assert done.exit_code == 0 and "1 test, 0 of them without a value" in done.stdout
    planned = tmp_path / "planned.json"
    planned.write_text(json.dumps(session([case({}), skipped])))
    assert run("check-history", stored, "--expected", planned).exit_code == 0
    planned.write_text(json.dumps(session([case({}), case({}, processes=4)])))
    assert "skipped for 3 sessions" in run("check-history", stored, "--expected", planned).stdout


def test_benchmark_that_is_missing_from_a_whole_session_is_missed_also_when_selected(tmp_path):
    other = case({"io_fraction": (0.5, "1")}, benchmark="ftio")
    stored = history(tmp_path, *[[good(), other]] * 3, [other])
    counts = {"b_eff": (1, "1 test, 1 of"), "ftio": (0, "1 test, 0 of"), "": (1, "2 tests, 1 of")}
    for name, (code, count) in counts.items():
        done = run("check-history", stored, *(["--benchmark", name] if name else []))
        assert done.exit_code == code and count in done.stdout
    page = tmp_path / "site.html"
    assert run("site", "report", stored, "--benchmark", "b_eff", "-o", page).exit_code == 0
    assert "not run for 1 session" in page.read_text()
    assert "not run for 1 session" in run("history", stored, "--benchmark", "b_eff").stdout


@pytest.mark.parametrize(("days", "code"), [(1.9, 1), (2.1, 0)])
def test_age_of_the_newest_session_is_limited(tmp_path, days, code):
    stored = database(tmp_path / "results.db", [session([good()], datetime.now(UTC) - timedelta(days=2))])
    done = run("check-history", stored, "--max-age", days)
    assert done.exit_code == code
    assert ("OLD: local: the newest session is 2.0 days old" in done.stdout) is bool(code)
    assert run("check-history", stored).exit_code == 0


def test_series_whose_options_changed_stops_without_an_alarm(tmp_path):
    """The test has values, under other options: only its old series ends."""
    other = good(executable_opts=["--time-budget", "9"])
    stored = history(tmp_path, *[[good()]] * 12, *[[other]] * 12)
    assert run("check-history", stored).exit_code == 0
    page = tmp_path / "site.html"
    run("site", "report", stored, "-o", page)
    assert page.read_text().count("no value since 2026-01-13") == 2, "in the overview and among the metrics"
    assert "1 test, each with a value." in page.read_text()
    once = history(tmp_path, [good()], *[[other]] * 2, name="once.db")
    run("site", "report", once, "-o", page)
    assert "no value since" not in page.read_text(), "what was measured once is expected nowhere"


def test_longest_gap_comes_first(tmp_path):
    stored = history(tmp_path, [good(2), good(4)], [good(2), crashed(4)], [crashed(2), crashed(4)])
    assert without_value(completeness(case_table(read_reports([stored]))))["processes"].to_dict() == {0: 4, 1: 2}


def test_real_session_whose_kernel_or_build_fails_has_no_value(reframe, kernel_that, tmp_path):
    log = logs_made.write(tmp_path / "good.jsonl", averaged_log(ranks=2, nodes=1))
    options = ["-r", "-n", "^b_eff%num_processes=2$"]
    stored = tmp_path / "results.db"
    for script, code, expected, reason in (
        (f'cp {log} "$log"', 0, ("measured", 0), ""),
        ("echo 'mpirun died' >&2; exit 1", 1, ("failed", 1), "mpirun died"),
        (None, 1, ("failed", 2), "there is no working b_eff in"),  # there is no such kernel
    ):
        chosen = kernel_that(script) if script else ["-S", "builder=prebuilt", "-S", f"prebuilt_directory={tmp_path}"]
        session = reframe(*options, *chosen)
        assert session.returncode == code, session.output
        assert state(stored)[:2] == expected
        assert reason in state(stored)[-1]
    junit = tmp_path / "junit.xml"
    run("export", stored, "--junit", junit)
    assert [suite.get("failures") for suite in ElementTree.parse(junit).findall("testsuite")] == ["0", "1", "1"]
    assert reframe("--dry-run", *options[1:], *kernel_that("true")).returncode == 0
    assert state(stored)[:2] == ("failed", 2)

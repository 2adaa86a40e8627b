# SPDX-License-Identifier: Apache-2.0
"""The filters of all commands that read sessions: what they keep, and that one which matches nothing is an error."""

import json

import pytest
from commands import run, said
from sessions_made import case, database, each_night, steady

NIGHTS = 20
# Per night: system, partition, benchmark, metric; the number of the combination is in every value.
PLACES = [
    ("a", "cpu", "b_eff", "b_eff"),
    ("a", "cpu", "b_eff", "ping_pong_latency"),
    ("a", "gpu", "b_eff_io", "b_eff_io"),
    ("b", "cpu", "b_eff", "b_eff"),
]
COMMANDS = [
    ["check-history"],
    ["nodes"],
    ["export", "--junit", "junit.xml"],
    ["references", "check"],
    ["references", "propose", "--benchmark", "b_eff", "--file", "new.yaml"],
    ["site", "report", "-o", "site.html"],
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    noise = steady(NIGHTS, 1.0)

    def of_night(night):
        for number, (system, partition, benchmark, metric) in enumerate(PLACES):
            value = {metric: ((number + 1) * noise[night], "us" if "latency" in metric else "MByte/s")}
            name = f"{benchmark} {metric}"
            yield case(value, system=system, partition=partition, benchmark=benchmark, name=name)

    return database(tmp_path_factory.mktemp("stored") / "results.db", each_night(NIGHTS, of_night))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ([], [0, 1, 2, 3]),
        (["--system", "a"], [0, 1, 2]),
        (["--system", "a", "--system", "b"], [0, 1, 2, 3]),
        (["--partition", "cpu"], [0, 1, 3]),
        (["--partition", "a:cpu"], [0, 1]),
        (["--partition", "a:gpu", "--partition", "b:cpu"], [2, 3]),
        (["--benchmark", "b_eff"], [0, 1, 3]),
        (["--metric", "b_eff", "--metric", "b_eff_io"], [0, 2, 3]),
        (["--system", "a", "--partition", "cpu", "--benchmark", "b_eff", "--metric", "b_eff"], [0]),
    ],
)
def test_a_filter_keeps_what_it_names(stored, options, kept):
    series = json.loads(run("history", stored, "--json", *options).stdout)["series"]
    found = {(row["system"], row["partition"], row["benchmark"], row["metric"]) for row in series}
    assert found == {PLACES[number] for number in kept} and len(series) == len(kept)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--since", "2026-01-11"], 10),
        (["--since", "2026-01-11T02:00:00"], 10),
        (["--since", "2026-01-11T02:00:01"], 9),
        (["--until", "2026-01-11"], 11),
        (["--until", "2026-01-10T23:59:59"], 10),
        (["--until", "2026-01-11T02:00:00"], 11),
        (["--until", "2026-01-11T01:59:59"], 10),
        (["--since", "2026-01-05", "--until", "2026-01-05"], 1),
        (["--since", "0001-01-01", "--until", "9999-12-31"], NIGHTS),
    ],
)
def test_dates_bound_the_sessions_and_a_day_is_included(stored, options, count):
    """Night n begins at 02:00 UTC on day n + 1."""
    _, *rows = run("history", stored, "--csv", *options).stdout.splitlines()
    assert len({row.split(",")[0] for row in rows}) == count


@pytest.mark.parametrize(
    ("option", "value", "there"),
    [
        ("--system", "c", "'a', 'b'"),
        ("--partition", "gpus", "'a:cpu', 'a:gpu', 'b:cpu'"),
        ("--partition", "b:gpu", "'a:cpu', 'a:gpu', 'b:cpu'"),
        ("--benchmark", "b_ef", "there are 'b_eff', 'b_eff_io'"),
        ("--metric", "B_EFF", "'b_eff', 'b_eff_io', 'ping_pong_latency'"),
        ("--since", "2027-01-01", "from 2026-01-01 to 2026-01-20"),
        ("--until", "2025-12-31", "from 2026-01-01 to 2026-01-20"),
        ("--since", "0000-00-00", "is not a date"),
        ("--until", "tomorrow", "is not a date"),
    ],
)
def test_a_value_that_matches_nothing_is_an_error_that_lists_what_there_is(stored, option, value, there):
    done = run("history", stored, option, value)
    assert done.exit_code == 2 and there in said(done)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:2]))
def test_every_command_has_the_filters(stored, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for option, value in (("--system", "c"), ("--partition", "b:gpu"), ("--until", "2025-12-31")):
        done = run(*command, stored, option, value)
        assert done.exit_code == 2 and "there are" in said(done) and list(tmp_path.iterdir()) == []
    done = run(*command, stored, "--benchmark", "c", *(["--metric", "c"] if "propose" not in command else []))
    assert done.exit_code == 2 and list(tmp_path.iterdir()) == []
    assert ("name one --benchmark" if "propose" in command else "'c'; there are 'b_eff', 'b_eff_io'") in said(done)


def test_each_value_has_to_match(stored):
    assert run("check-history", stored, "--system", "a", "--system", "nosuch").exit_code == 2
    assert run("check-history", stored, "--system", "b", "--benchmark", "b_eff_io").exit_code == 2, "not on this system"


def test_a_filter_does_not_hide_that_a_test_did_not_run(tmp_path):
    """The test of `gpu` is missing from the newest session, which has the one of `cpu`."""
    both = [case({"b_eff": (1.0, "MByte/s")}, partition=name) for name in ("cpu", "gpu")]
    stored = database(tmp_path / "results.db", each_night(3, lambda number: both if number < 2 else both[:1]))
    for option, code in (("gpu", 1), ("cpu", 0)):
        done = run("check-history", stored, "--partition", option, "--json")
        assert done.exit_code == code and len(json.loads(done.stdout)["missing"]) == code
    assert run("check-history", stored).exit_code == 1


def test_history_of_dry_runs_only_is_no_all_clear(tmp_path):
    """Every test passed, and none measured anything."""
    dry = each_night(3, lambda _: [case({"b_eff": (None, "MByte/s")})])
    done = run("check-history", database(tmp_path / "results.db", dry))
    assert done.exit_code == 2 and "no selected session ran a test" in said(done)


@pytest.mark.parametrize("days", ["nan", "inf", "-1"])
def test_age_that_nothing_could_exceed_is_refused(stored, days):
    done = run("check-history", stored, "--max-age", days)
    assert done.exit_code == 2 and "--max-age must be a number of days" in said(done)

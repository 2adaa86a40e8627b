# SPDX-License-Identifier: Apache-2.0
"""The value of a system in the history: the largest official b_eff_io of all sizes of a session, by section 5.1 of the
paper."""

import json
from pathlib import Path

import pandas as pd
import pytest
from commands import run
from sessions_made import case, night, session, write

from coffeecup.postprocess.history.systems import with_systems
from coffeecup.postprocess.history.table import history_table
from coffeecup.postprocess.sessions.files import SessionReport


def b_eff_io(processes, value, lower=None, upper=None, reference=0, **more):
    """A run with the bounds that ReFrame writes, as fractions of the reference."""
    measured = {"b_eff_io": (value, reference, lower, upper, "MByte/s", "pass"), "write": (9e9, "MByte/s")}
    return case(measured, processes=processes, benchmark="b_eff_io", **{"official": True} | more)


def systems(*cases):
    """The rows of systems in the history of a session with these cases, after the others were found unchanged."""
    table = history_table([SessionReport(Path("session.json"), session(list(cases)))])
    wider = with_systems(table)
    own = wider["metric"] == "b_eff_io_system"
    pd.testing.assert_frame_equal(wider[~own].reset_index(drop=True), table)
    return wider[own].to_dict("records")


def test_value_of_a_system_is_the_largest_of_all_sizes_in_the_series_of_the_largest_size():
    [row] = systems(b_eff_io(2, 100.0), b_eff_io(8, 300.0), b_eff_io(16, 200.0))
    assert (row["value"], row["processes"], row["unit"], row["better"]) == (300, 16, "MByte/s", "higher")
    assert row["settings"].endswith("largest of 2, 8, 16 processes") and row["outcome"] == "no reference"


@pytest.mark.parametrize("missing", [{"official": False}, {"variant": "form=quick"}, {"file_system": "home"}])
def test_runs_that_are_not_official_or_differ_in_more_than_size_give_no_value(missing):
    assert systems(b_eff_io(2, 100.0), b_eff_io(8, 300.0, **missing)) == []
    assert systems(b_eff_io(2, 100.0)) == []
    [row] = systems(b_eff_io(2, 100.0), b_eff_io(4, 50.0), b_eff_io(8, 300.0, **missing))
    assert (row["value"], row["processes"]) == (100, 4) and "2, 4 processes" in row["settings"]


def test_each_repetition_of_a_session_has_its_own_value():
    """300, 50 and 100, 200: not the 300 of all of them."""
    rows = systems(b_eff_io(2, 300.0), b_eff_io(8, 50.0), b_eff_io(2, 100.0), b_eff_io(8, 200.0))
    assert sorted(row["value"] for row in rows) == [200, 300]


def test_of_a_run_that_failed_and_was_run_again_the_last_retry_counts():
    """The best size reaches 100 of 300, and 301 in its retry: the system is not slower."""
    sizes = b_eff_io(2, 150.0, -0.05, None, 200.0), b_eff_io(8, 100.0, -0.05, None, 300.0, result="fail")
    retried = session(list(sizes))
    again = b_eff_io(8, 301.0, -0.05, None, 300.0, run_index=1)
    retried["runs"].append(retried["runs"][0] | {"run_index": 1, "testcases": [again]})
    table = with_systems(history_table([SessionReport(Path("session.json"), retried)]))
    [row] = table[table["metric"] == "b_eff_io_system"].to_dict("records")
    assert (row["value"], row["outcome"]) == (301, "pass")


def test_a_system_misses_its_reference_as_expected_if_its_best_size_does():
    """ReFrame's $xfail of one size: what the site knows already is no failure of the system."""
    best = b_eff_io(8, 250.0, -0.05, None, 300.0)
    best["perfvalues"]["local:default:b_eff_io"][-1] = "xfail"
    [row] = systems(b_eff_io(2, 150.0, -0.05, None, 200.0), best)
    assert row["outcome"] == "expected failure"


@pytest.mark.parametrize(("value", "outcome"), [(284.9, "fail"), (285.0, "pass"), (316.0, "fail")])
def test_reference_of_a_system_is_the_largest_of_its_sizes(value, outcome):
    """The reference 300 with 5 % on both sides; the other size has 200 and reached less than that."""
    sizes = b_eff_io(2, value, -0.05, 0.05, 300.0), b_eff_io(8, 150.0, -0.05, None, 200.0)
    [row] = systems(*sizes)
    assert (row["reference"], row["lower"], row["upper"]) == (300, 285, pytest.approx(315))
    assert row["outcome"] == outcome
    [row] = systems(sizes[0], b_eff_io(8, 150.0))
    assert row["outcome"] == "no reference" and pd.isna(row["reference"])


@pytest.mark.slow
def test_a_loss_of_the_system_is_found_in_its_history_and_proposes_no_reference(tmp_path):
    """From night 20 on, the best size loses 10 %; the others stay."""
    noise = [0.1, -0.2, 0.3, -0.1, 0.2, -0.3, 0.0]
    best = [(300.0 if number < 20 else 270.0) + noise[number % 7] for number in range(30)]
    sessions = [
        session([b_eff_io(2, 100.0), b_eff_io(8, value), b_eff_io(16, 200.0)], night(number))
        for number, value in enumerate(best)
    ]
    folder = write(tmp_path / "sessions", sessions)
    done = run("check-history", folder, "--json")
    found = json.loads(done.stdout)["changes"]
    assert done.exit_code == 1 and ("b_eff_io_system", 16) in {(one["metric"], one["processes"]) for one in found}
    options = ("--benchmark", "b_eff_io", "--file", tmp_path / "b_eff_io.yaml", "--json", "--include", "changes")
    done = run("references", "propose", folder, *options)
    assert done.exit_code == 0 and '"metric": "b_eff_io"' in done.stdout
    assert "b_eff_io_system" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2, 8), (2, 4, 8)])
def test_a_system_without_a_value_is_missed_as_soon_as_a_size_is_not_official(tmp_path, sizes):
    """The size itself has a value in each session, and with three sizes the others have a largest one."""

    def nightly(number, official):
        return session([b_eff_io(size, 100.0 + size, official=official or size < 8) for size in sizes], night(number))

    done = run("check-history", write(tmp_path / "kept", [nightly(number, True) for number in range(6)]))
    assert done.exit_code == 0, done.output
    lost = write(tmp_path / "lost", [nightly(number, number < 5) for number in range(6)])
    done = run("check-history", lost)
    assert done.exit_code == 1 and "no value of b_eff_io_system" in " ".join(done.output.split()), done.output

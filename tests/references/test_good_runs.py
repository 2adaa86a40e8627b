# SPDX-License-Identifier: Apache-2.0
"""References come from good runs only, describe one level, and can fail."""

import pytest
import yaml
from commands import run, said
from sessions_made import case, database, each_night, night, nights, session, steady

from coffeecup.postprocess.benchmarks.benchmark import Better, MetricKind

GOOD = {"b_eff": (1000.0, "MByte/s")}
SLOW = {"b_eff": (500.0, 1000.0, -0.1, None, "MByte/s", "fail")}


def propose(tmp_path, sessions, *options):
    """The command's result, and the entry that it proposes for b_eff on two processes, None without one."""
    stored = database(tmp_path / "results.db", sessions)
    file = tmp_path / "b_eff.yaml"
    file.unlink(missing_ok=True)
    done = run("references", "propose", stored, "--benchmark", "b_eff", "--file", file, "--write", *options)
    (tmp_path / "results.db").unlink()
    return done, yaml.safe_load(file.read_text())["b_eff"]["local:default"][2]["b_eff"] if file.exists() else None


def test_failed_runs_are_excluded_and_listed(tmp_path):
    """10 of 25 sessions at half speed would give bounds of -50 %."""
    slow = case(SLOW, result="fail", fail_reason="b_eff=500.0, expected 1000.0")
    sessions = each_night(25, lambda number: [slow if number % 5 in (2, 4) else case(GOOD)])
    done, entry = propose(tmp_path, sessions)
    assert done.exit_code == 0 and entry == [1000.0, -0.05, None, "MByte/s"]
    listed = [line for line in done.output.splitlines() if line.startswith("excluded: ")]
    assert len(listed) == 10
    assert listed[0] == ("excluded: 2026-01-03 02:00 UTC, b_eff %num_processes=2: failed: b_eff=500.0, expected 1000.0")
    done, entry = propose(tmp_path, sessions, "--include", "failed", "--include", "changes")
    assert done.exit_code == 0 and entry[1] == -0.5


def test_new_level_after_an_upgrade_may_fail_the_old_reference(tmp_path):
    old = each_night(12, lambda _: [case(GOOD)])
    new = each_night(12, lambda _: [case(SLOW, result="fail")], first=12)
    done, entry = propose(tmp_path, old + new, "--valid-from", "2026-01-13")
    assert done.exit_code == 0 and entry[0] == 500
    crashed = each_night(12, lambda _: [case({}, result="fail")], first=12)
    assert propose(tmp_path, old + crashed, "--valid-from", "2026-01-13")[0].exit_code == 2


@pytest.mark.parametrize(
    ("variables", "reason", "kind"),
    [
        ({"kernel_version": "0.0.9"}, "kernel 0.0.9, the newest is 0.1.0", "versions"),
        ({"mpi_library": "MPICH 4.0.2"}, "MPI library MPICH 4.0.2, the newest is Open MPI v4.1.4", "versions"),
        ({"qualifications": "one_host,stolen"}, "disturbed: stolen", "disturbed"),
        ({"qualifications": "load_of_others,overlapped"}, "disturbed: load_of_others, overlapped", "disturbed"),
    ],
)
def test_run_that_is_unlike_the_others_is_used_on_request_only(tmp_path, variables, reason, kind):
    other = nights([700.0] * 11, **variables)
    good = nights([1000.0] * 12, first=11)
    done, entry = propose(tmp_path, other + good)
    assert done.exit_code == 0 and entry == [1000.0, -0.05, None, "MByte/s"]
    assert done.output.count(f"b_eff %num_processes=2: {reason}\n") == 11
    done, entry = propose(tmp_path, other + good, "--include", kind, "--include", "changes")
    assert "excluded" not in done.output and entry[1] == pytest.approx(-0.3, abs=0.01)


def test_other_qualifications_exclude_nothing(tmp_path):
    done, _ = propose(tmp_path, nights([1000.0] * 10, qualifications="one_host,budget,short_loops"))
    assert done.exit_code == 0 and "excluded" not in done.output


def test_newest_version_is_that_of_a_good_run(tmp_path):
    good = nights([1000.0] * 10)
    failed = [session([case(SLOW, result="fail", fail_reason="slow", kernel_version="0.2.0")], night(10))]
    done, entry = propose(tmp_path, good + failed)
    assert done.exit_code == 0 and entry[0] == 1000
    assert done.output.count("excluded: ") == 1 and "b_eff %num_processes=2: failed: slow\n" in done.output


def test_without_a_good_run_there_is_no_reference(tmp_path):
    done, entry = propose(tmp_path, nights([1000.0] * 12, qualifications="stolen"))
    assert done.exit_code == 2 and entry is None
    assert "no run is left that a reference may come from: 12 runs disturbed: stolen; see --include" in said(done)
    failed = [session([case(SLOW, result="fail", fail_reason="exit code 1 " * 20)], night(12))]
    done, _ = propose(tmp_path, nights([1000.0] * 12, qualifications="stolen") + failed)
    assert f": 12 runs disturbed: stolen; 1 run failed: {('exit code 1 ' * 20)[:92].strip()}; see --include" in said(
        done
    )
    done, _ = propose(tmp_path, nights([1000.0] * 12), "--include", "all")
    assert "unknown kind 'all': valid are failed, versions, disturbed, changes" in said(done)


def test_window_with_a_change_of_level_is_refused_with_its_date(tmp_path):
    sessions = nights([*steady(20), *steady(10, 800.0, seed=2)])
    done, entry = propose(tmp_path, sessions)
    assert done.exit_code == 2 and entry is None
    time = "2026-01-21T02:00:00"
    assert f"since 2026-01-21 02:00 UTC: a reference describes one level; use --valid-from {time}" in said(done)
    done, entry = propose(tmp_path, sessions, "--valid-from", time)
    assert done.exit_code == 0 and entry[0] == pytest.approx(800, rel=0.03)


def test_after_an_episode_a_reference_begins_with_the_level_after_it(tmp_path):
    sessions = nights([*steady(20, spread=0.01), *steady(5, 500.0, seed=2), *steady(12, seed=3, spread=0.01)])
    done, entry = propose(tmp_path, sessions)
    assert done.exit_code == 2 and "from 2026-01-21 02:00 to 2026-01-25 02:00 UTC: a reference" in said(done)
    assert "use --valid-from 2026-01-26T02:00:00 for the new one" in said(done)
    done, entry = propose(tmp_path, sessions, "--valid-from", "2026-01-26T02:00:00")
    assert done.exit_code == 0 and entry[0] == pytest.approx(1000, rel=0.03) and entry[1] == -0.05


def test_during_a_drift_no_begin_of_a_level_is_proposed(tmp_path):
    done, _ = propose(tmp_path, nights([1000.0 - 5 * number for number in range(20)]))
    refused = "UTC, in a steady drift: a reference describes one level; use --include changes"
    assert done.exit_code == 2 and refused in said(done)


@pytest.mark.parametrize(
    ("entry", "better", "expected"),
    [
        ((100.0, -0.1, None), Better.HIGHER, True),
        ((100.0, -0.999, None), Better.HIGHER, True),
        ((100.0, -1.0, None), Better.HIGHER, False),
        ((100.0, None, 0.1), Better.HIGHER, False),
        ((0, -0.1, 0.1), Better.HIGHER, False),
        ((float("inf"), -0.1, 0.1), Better.HIGHER, False),
        ((2.0, None, 0.1), Better.LOWER, True),
        ((2.0, -0.1, None), Better.LOWER, False),
        ((2.0, -0.1, float("inf")), Better.LOWER, False),
        ((2.0, None, None), Better.NEITHER, False),
        ((2.0, None, 0.1), Better.NEITHER, True),
    ],
)
def test_reference_that_no_bad_value_fails_is_none(entry, better, expected):
    assert MetricKind("m", "s", better).can_fail(*entry) is expected


def test_gate_names_references_that_cannot_fail(tmp_path):
    file = tmp_path / "b_eff.yaml"
    entry = {"b_eff": [1000.0, -1.0, None, "MByte/s"]}
    content = {"$index": ["$partition", "num_processes"], "local:default": {2: entry}}
    file.write_text(yaml.safe_dump({"_meta": {}, "b_eff": content}))
    compared = {"b_eff": (1000.0, 1000.0, -1.0, None, "MByte/s", "pass")}
    stored = database(tmp_path / "results.db", [session([case(compared)])])
    done = run("references", "check", stored, "--file", file)
    assert done.exit_code == 1
    assert "local:default, 2, b_eff: the reference of b_eff cannot fail: [1000.0, -1.0, None, 'MByte/s']" in done.output
    entry["b_eff"][1] = -0.2
    file.write_text(yaml.safe_dump({"_meta": {}, "b_eff": content}))
    assert run("references", "check", stored, "--file", file).exit_code == 0
    file.rename(tmp_path / "my.yaml")
    done = run("references", "check", stored, "--file", tmp_path / "my.yaml")
    assert done.exit_code == 2 and "not a reference file of my: " in said(done)
    assert "name the file after its benchmark" in said(done)

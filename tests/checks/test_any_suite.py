# SPDX-License-Identifier: Apache-2.0
"""Tests that are not ours: series, directions, completeness and references of any ReFrame test."""

import json
import shutil
from datetime import timedelta

import documented
import jsonschema
import pytest
import sessions_made
import yaml
from builds import ROOT
from commands import run, said
from other_suite import bandwidth, case, later, nights, session, tables, usage
from sessions_made import database, night, steady, write

from coffeecup.postprocess.history.change_points import session_values
from coffeecup.postprocess.history.completeness import completeness
from coffeecup.postprocess.history.table import history_table
from coffeecup.postprocess.sessions.files import read_reports

# --- the table --------------------------------------------------------------------------------------------------------


def test_sessions_are_what_reframe_would_write():
    jsonschema.validate(session([bandwidth(1.0)], night(0)), sessions_made.SCHEMA)


def test_series_is_class_parameters_place_and_size(tmp_path):
    made = case({"bw": (5.0, "GB/s")}, "osu_bw", {"size": 4096, "build.flags": "-O3"}, num_tasks=2)
    _, table = tables(tmp_path, nights([made]))
    [row] = table.to_dict("records")
    assert (row["benchmark"], row["settings"], row["processes"]) == ("osu_bw", "size=4096 build.flags=-O3", 2)
    assert (row["system"], row["partition"], row["environ"], row["metric"]) == ("cluster", "cpu", "gnu", "bw")
    assert json.loads(row["parameters"]) == {"size": 4096, "build.flags": "-O3"}, "a number stays one"


@pytest.mark.parametrize(("tasks", "expected"), [(4, 4), (0, 0), (-2, 0), (None, 0), ("<undefined>", 0)])
def test_unknown_number_of_processes_is_not_shown(tmp_path, tasks, expected):
    _, table = tables(tmp_path, nights([bandwidth(1.0, num_tasks=tasks)]))
    assert table["processes"].tolist() == [expected]
    shown = run("history", tmp_path / "results.db").stdout
    assert ("4 processes of cluster:cpu" in shown) is (expected == 4) and "0 processes" not in shown


def test_each_node_of_distribute_is_a_series(tmp_path):
    two = [[bandwidth(100.0, node="n1"), bandwidth(50.0, node="n2")] for _ in range(3)]
    cases, table = tables(tmp_path, nights(*two, two[0][:1]))
    values = session_values(table)
    of_nodes = values.groupby("node")["value"].agg(["median", "size"]).to_dict("list")
    assert of_nodes == {"median": [100.0, 50.0], "size": [4, 3]}
    gone = completeness(cases).set_index("node")
    assert gone["state"].to_dict() == {"n1": "measured", "n2": "not run"}
    done = run("check-history", tmp_path / "results.db")
    assert done.exit_code == 1
    assert "NO VALUE: scratch %pattern=write on cluster:cpu+gnu, node n2: not run for 1 session" in done.stdout


def test_tests_that_measure_nothing_and_fixtures_are_left_out(tmp_path):
    build = case({"compile_time": (3.0, "s")}, "build", fixture=True)
    cases, _ = tables(
        tmp_path, nights([bandwidth(1.0), case({}, "compiles"), build], [case({}, "compiles", result="fail")])
    )
    assert set(cases["benchmark"]) == {"scratch"}


def test_test_that_was_always_skipped_may_measure_something(tmp_path):
    skipped = case({}, "ior", result="skip")
    cases, _ = tables(tmp_path, nights([bandwidth(1.0), skipped], [bandwidth(1.0), skipped]))
    assert set(cases["benchmark"]) == {"scratch", "ior"}


def test_test_that_failed_in_every_session_is_named(tmp_path):
    failed = case({}, "ior", result="fail", fail_reason="mpirun: not\nfound")
    cases, _ = tables(tmp_path, nights([failed], [failed]))
    [row] = completeness(cases).to_dict("records")
    assert (row["state"], row["sessions"], row["reason"]) == ("failed", 2, "mpirun: not found")


def test_test_that_passes_without_its_value_has_failed(tmp_path):
    """ReFrame warns of a performance function that raises, and passes the test."""
    lost, nan = bandwidth(1.0) | {"perfvalues": {}}, bandwidth(None)
    for number, without in enumerate((lost, nan)):
        stored = database(tmp_path / f"{number}.db", nights([bandwidth(1.0)], [without]))
        done = run("check-history", stored)
        assert done.exit_code == 1
        assert "failed for 1 session" in done.stdout and "none of its performance variables has a value" in done.stdout
    dry = bandwidth(None, job_completion_time_unix=None)
    stored = database(tmp_path / "dry.db", nights([bandwidth(1.0)], [dry]))
    assert run("check-history", stored).exit_code == 0


@pytest.mark.parametrize(("having", "lacking", "missed"), [(1, 5, False), (2, 1, True), (12, 3, True)])
def test_metric_that_is_lost_while_its_test_passes_is_named(tmp_path, having, lacking, missed):
    both = case({"bw": (1.0, "MB/s"), "lat": (1.0, "us")}, "osu")
    one = case({"bw": (1.0, "MB/s")}, "osu")
    stored = database(tmp_path / "results.db", nights(*[[both]] * having, *[[one]] * lacking))
    done = run("check-history", stored)
    expected = f"osu on cluster:cpu+gnu: without some of its metrics for {lacking} session"
    assert [done.exit_code == 1, expected in done.stdout, ": no value of lat" in done.stdout] == [missed] * 3
    run("export", stored, "--junit", tmp_path / "junit.xml")
    assert ("<error" in (tmp_path / "junit.xml").read_text()) is missed
    again = database(tmp_path / "again.db", nights(*[[both]] * having, *[[one]] * lacking, [both]))
    assert run("check-history", again).exit_code == 0


def test_reason_is_that_of_the_fixture_that_failed(tmp_path):
    """Two fixtures deep, as where sources are fetched and built."""

    def fixture(name, *needs, **more):
        depends = [[need, "cluster:cpu", "gnu"] for need in needs]
        return case({}, name, fixture=True, dependencies_actual=depends, **more)

    needs = {"dependencies_actual": [["build", "cluster:cpu", "gnu"]]}
    cases = [
        fixture("fetch", result="fail", fail_reason="no network"),
        fixture("other", result="fail", fail_reason="unrelated"),
        fixture("build", "fetch", result="fail_deps"),
        bandwidth(1.0, result="fail_deps", **needs) | {"perfvalues": {}},
    ]
    made, _ = tables(tmp_path, nights(cases))
    assert made["reason"].tolist() == ["no network"]


def test_nan_in_one_test_is_a_missing_value_of_that_test_alone(tmp_path):
    folder = write(tmp_path / "json", nights([bandwidth(float("nan")), case({"iops": (float("inf"), "IOPS")}, "io")]))
    table = history_table(read_reports([folder, database(tmp_path / "r.db", nights([bandwidth(7.0)], first=1))]))
    assert table["value"].isna().tolist() == [True, True, False]


def test_names_of_our_variables_may_mean_anything_elsewhere(tmp_path):
    odd = bandwidth(2.0, official="maybe", benchmark=["stream"], num_processes="many", facts=3, file_system=False)
    _, table = tables(tmp_path, nights([odd]))
    assert table[["benchmark", "file_system", "processes"]].iloc[0].tolist() == ["scratch", "", 4]


def test_what_reframe_records_explains_a_change(tmp_path):
    before = [[bandwidth(value, libfabric="1.20")] for value in steady(12, 100)]
    other = {"libfabric": "1.21", "modules": ["a", "b"]}
    other |= {"executable_opts": ["--dir=/scratch/stage/x", "--log=/scratch/output/y"]}
    after = [[bandwidth(value, **other)] for value in steady(8, 50)]
    stored = database(tmp_path / "results.db", nights(*before, *after))
    done = run("check-history", stored)
    assert done.exit_code == 1 and "REGRESSION: scratch bandwidth on 4 processes" in done.stdout
    for told in ("libfabric: 1.20 -> 1.21", "40M -> --dir=(stage)/x --log=(output)/y", "modules: nothing -> a b"):
        assert told in done.stdout


# --- references -------------------------------------------------------------------------------------------------------


def propose(stored, file, *options, benchmark="scratch"):
    done = run("references", "propose", stored, "--file", file, "--benchmark", benchmark, "--write", *options)
    return done, yaml.safe_load(file.read_text()) if file.exists() else None


def test_references_are_by_partition_parameters_and_tasks(tmp_path):
    def both(value):
        return [case({"bw": (value * size, "MB/s"), "lat": (value, "us")}, "osu", {"size": size}) for size in (1, 8)]

    stored = database(tmp_path / "results.db", nights(*map(both, steady(12, 10.0, 0.001))))
    done, content = propose(stored, tmp_path / "osu.yaml", benchmark="osu")
    assert done.exit_code == 0, done.output
    assert content["osu"]["$index"] == ["$partition", "size", "num_tasks"]
    entries = content["osu"]["cluster:cpu"]
    assert set(entries) == {1, 8} and set(entries[8]) == {4}
    assert entries[8][4]["bw"] == [pytest.approx(80, rel=0.01), -0.05, None, "MB/s"]
    assert entries[1][4]["lat"] == [pytest.approx(10, rel=0.01), None, 0.05, "us"]
    assert '"$ref": "' + str(tmp_path / "osu.yaml") in done.output
    gaps = run("references", "check", stored, "--file", tmp_path / "osu.yaml")
    assert gaps.exit_code == 1 and "cluster:cpu, size=8, 4, bw: osu has no reference" in gaps.output
    assert "not used" not in gaps.output and "cannot fail" not in gaps.output
    content["osu"]["cluster:cpu"][9] = entries[8]
    entries[1][4]["lat"] = [10.0, -0.05, None, "us"]
    (tmp_path / "osu.yaml").write_text(yaml.safe_dump(content))
    gaps = run("references", "check", stored, "--file", tmp_path / "osu.yaml").output
    assert "cluster:cpu, 9, 4, bw: the reference of osu was not used by any run" in gaps
    assert "cluster:cpu, 1, 4, lat: the reference of osu cannot fail" in gaps


def test_reference_of_unknown_direction_has_both_bounds(tmp_path):
    done, content = propose(database(tmp_path / "results.db", usage([50.0] * 12)), tmp_path / "scratch.yaml")
    assert done.exit_code == 0 and content["scratch"]["$index"] == ["$partition", "num_tasks"]
    assert content["scratch"]["cluster:cpu"][4]["usage"] == [50.0, -0.05, 0.05, "%"]


def test_bounds_of_nodes_are_those_that_the_slowest_needs(tmp_path):
    """Node n2 is 20 % slower than the median of n1 and n3."""
    made = [[bandwidth(value, node=f"n{number}") for number, value in enumerate((100, 80, 100), 1)] for _ in range(12)]
    stored = database(tmp_path / "results.db", nights(*made))
    _, content = propose(stored, tmp_path / "scratch.yaml")
    assert content["scratch"]["cluster:cpu"]["write"][4]["bandwidth"] == [100.0, pytest.approx(-0.24), None, "MB/s"]
    [measured] = content["_meta"]["measured"]["cluster:cpu"]["write"][4]
    assert len(measured["sessions"]) == 12


def test_parameters_of_fixtures_are_chosen_because_reframe_cannot_look_them_up(tmp_path):
    made = [
        [case({"t": (base, "s")}, "app", {"build.flags": flags}) for flags, base in (("-O2", 20.0), ("-O3", 10.0))]
        for _ in range(12)
    ]
    stored = database(tmp_path / "results.db", nights(*made))
    done, content = propose(stored, tmp_path / "app.yaml", benchmark="app")
    assert done.exit_code == 2 and content is None
    assert "select one with --settings: 'build.flags=-O2', 'build.flags=-O3'" in said(done)
    done, content = propose(stored, tmp_path / "app.yaml", "--settings", "build.flags=-O3", benchmark="app")
    assert done.exit_code == 0 and content["app"]["cluster:cpu"][4]["t"][0] == 10


def test_unknown_test_is_named_with_those_of_the_sessions(tmp_path):
    stored = database(tmp_path / "results.db", nights([bandwidth(1.0)]))
    done, _ = propose(stored, tmp_path / "x.yaml", benchmark="scrtch")
    assert done.exit_code == 2 and "no result has 'scrtch'; there are 'scratch'" in said(done)


# --- pages and exports ------------------------------------------------------------------------------------------------


def test_pages_figures_and_exports_show_any_test(tmp_path):
    def of_night(value):
        osu = case({"p2p/rate 1": (value, "MB/s")}, "osu", num_tasks=None)
        return [bandwidth(value, node="n1"), bandwidth(value / 2, node="n2"), osu]

    stored = database(tmp_path / "results.db", nights(*map(of_night, steady(14, 100))))
    page, figures = tmp_path / "site.html", tmp_path / "figures"
    done = run("site", "report", stored, "-o", page, "--figures", figures)
    assert done.exit_code == 0, done.output
    words = page.read_text()
    assert "3 tests, each with a value" in words and "cluster:cpu+gnu n2 pattern=write" in words
    names = {"site-01-osu-p2p_rate_1.svg", "site-01-scratch-bandwidth.svg"}
    assert {path.name for path in figures.glob("*.svg")} == names
    metrics, junit = tmp_path / "metrics", tmp_path / "junit.xml"
    assert run("export", stored, "--openmetrics", metrics, "--junit", junit).exit_code == 0
    assert 'node="n2"' in metrics.read_text() and 'metric="p2p/rate 1"' in metrics.read_text()
    assert 'name="scratch %pattern=write on n2"' in junit.read_text()


# --- real sessions ----------------------------------------------------------------------------------------------------

PAGE = ROOT / "docs" / "any-suite.md"


@pytest.fixture
def suite(tmp_path):
    """The suite of the page, in a folder of the test's own."""
    if not shutil.which("fio"):
        pytest.skip("no fio on this machine (Debian: fio)")
    files = [step for step in documented.steps(PAGE) if isinstance(step, documented.File)]
    [file] = [file for file in files if file.path.endswith(".py")]
    file.follow(tmp_path, {})
    return tmp_path / file.path


def test_real_session_is_compared_with_references_from_its_like(reframe, suite, tmp_path):
    """One real session stands for twelve nights. The reference is then looked up by ReFrame itself, by a parameter and
    on each node; half the rate fails, and a program that is missing is named."""

    def real(*options, config=None):
        return reframe("-r", *options, config=config, checks=suite.parent)

    first = real()
    assert first.returncode == 0 and len(first.cases) == 2, first.output
    begun = night(0)
    stored = write(tmp_path / "nights", [later(first.report, begun + timedelta(days=number)) for number in range(12)])
    done, content = propose(stored, suite.with_name("scratch.yaml"))
    assert done.exit_code == 0 and content["scratch"]["$index"] == ["$partition", "pattern", "num_tasks"], done.output
    [value] = {case["perfvalues"]["generic:default:requests"][0] for case in first.cases}
    assert value == 128, "8 MiB in requests of 64 KiB"

    suite.write_text(suite.read_text() + '    reference = {"$ref": "scratch.yaml"}\n')
    again = real("--distribute=all")
    assert again.returncode == 0, again.output
    report = tmp_path / "session.json"
    assert run("references", "check", report, "--file", suite.with_name("scratch.yaml")).exit_code == 0
    table = history_table(read_reports([report]))
    assert set(table["node"]) == {table["hosts"].iloc[0]} != {""}
    assert set(table["outcome"]) == {"pass"} and set(table["reference"]) >= {128.0}
    facts = [set(json.loads(text)) for text in table["facts"]]
    assert facts == [{"executable", "options", "rate"}] * len(table), "ReFrame's own times explain nothing"

    slow = real("-S", "scratch.rate=10M")
    assert slow.returncode == 1 and {case["fail_phase"] for case in slow.cases} == {"performance"}
    (tmp_path / "nights" / "session-slow.json").write_text(json.dumps(slow.report))
    dead = real("-S", "scratch.executable=/no/such/fio")
    assert dead.returncode == 1
    (tmp_path / "nights" / "session-dead.json").write_text(json.dumps(dead.report))
    found = run("check-history", stored)
    assert found.exit_code == 1
    assert found.stdout.count("pattern 'Run status' not found in 'rfm_job.out'") == 2
    assert "2 of them without a value" in found.stdout


@pytest.mark.prove
def test_page_works_as_described(suite, tmp_path):
    documented.follow(PAGE, tmp_path, documented.environment())

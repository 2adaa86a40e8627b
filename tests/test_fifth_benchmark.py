# SPDX-License-Identifier: Apache-2.0
"""A fifth benchmark, the one of docs/add-a-benchmark.md: a folder per layer, and no existing file is changed for it to
be built, run, scored, watched, plotted, tracked and judged. test_docs.py runs the commands of the page; here is what
the page does not show."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import documented
import pandas as pd
import pytest
from conftest import COFFEECUP, PATIENCE, ROOT

REFERENCES = """
_meta: {benchmark: barrier, schema: 1, provenance: made up}
barrier:
  $index: [$partition, num_processes]
  'local:default': {2: {barrier_time: [1.0e+6, null, 0.5, us]}}
"""
CONTRACT = """
version: 1
contract: A barrier
clauses:
- clause: time
  benchmark: barrier
  metric: barrier_time
  unit: us
  system: local
  partition: default
  size: {processes: 2}
  official: false
  repetitions: 2
  statistic: median
  ceiling: 1.0e+6
"""


def hashes(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", "output"} & set(path.parts)
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of this tree with the made-up benchmark added, two sessions that ran it, and `coffeecup` of the copy."""
    folder = tmp_path_factory.mktemp("fifth") / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    before = hashes(folder)
    for step in documented.steps(ROOT / "docs" / "add-a-benchmark.md"):
        if isinstance(step, documented.File):
            assert not (folder / step.path).exists()
            step.follow(folder, {})
    (folder / "reference_values" / "barrier.yaml").write_text(REFERENCES)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RFM_", "SPACK_"))}
    clean["PATH"] = os.pathsep.join(
        part for part in clean["PATH"].split(os.pathsep) if not Path(part, "spack").exists()
    )
    clean |= {"PYTHONPATH": str(folder), "RFM_SQLITE_DB_FILE": str(folder.parent / "results.db")}

    def coffeecup(*arguments):
        return subprocess.run(
            [COFFEECUP, *map(str, arguments)],
            cwd=folder.parent,
            env=clean,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    reframe = [Path(sys.executable).with_name("reframe")]
    sessions = []
    for number in (1, 2):
        report = folder.parent / f"session-{number}.json"
        sessions.append(report)
        done = coffeecup(
            "watch",
            folder.parent / f"run-{number}",
            "--",
            *reframe,
            "--nocolor",
            "-C",
            folder / "site_configs/local/settings.py",
            "-c",
            folder / "reframe_checks",
            "-r",
            "-n",
            "barrier%num_processes=2$",
            "--mode=smoke",
            "-S",
            "builder=cmake",
            f"--prefix={folder.parent}/run-{number}",
            f"--report-file={report}",
            f"--perflogdir={folder.parent}/perflogs",
        )
        assert done.returncode == 0, done.stdout + done.stderr
    [log] = (folder.parent / "run-2" / "output").rglob("barrier.jsonl")
    return SimpleNamespace(
        folder=folder, before=before, coffeecup=coffeecup, watched=done.stdout, sessions=sessions, log=log
    )


def test_no_file_that_was_there_had_to_change(tree):
    after = hashes(tree.folder)
    assert {name: after.get(name) for name in tree.before} == tree.before
    assert {path.parts[0] for path in after.keys() - tree.before.keys()} == {
        "kernels",
        "postprocess",
        "reframe_checks",
        "reference_values",
    }


def test_it_is_watched(tree):
    assert "barrier on 2 processes: 5 of 5 measurements, complete" in tree.watched


def test_it_is_scored_and_plotted(tree, tmp_path):
    [score] = json.loads(tree.coffeecup("score", "--json", tree.log).stdout)
    assert score["benchmark"] == "barrier" and list(score["metrics"]) == ["barrier_time", "slowest_barrier_time"]
    measured = [
        record["elapsed_seconds"] for record in map(json.loads, tree.log.open()) if record["record"] == "measurement"
    ]
    assert score["metrics"]["barrier_time"]["value"] == pytest.approx(sorted(measured)[2] / 1000 * 1e6)
    done = tree.coffeecup(
        "report", tree.log, "--session", tree.sessions[1], "-o", tmp_path / "r.html", "--figures", tmp_path / "figures"
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "… slowest repetition" in page and "Message Passing Interface Forum" in page and "Rabenseifner" not in page
    assert len(pd.read_csv(next((tmp_path / "figures").glob("*-repetitions.csv")))) == 5


def test_a_log_that_breaks_its_rules_or_its_schema_is_refused(tree, tmp_path):
    text = tree.log.read_text()
    for old, new, words in (
        ('"repetition":2,', '"repetition":3,', "5 repetitions in order"),
        ('"record":"plan",', '"record":"plan","more":1,', "plan record"),
    ):
        assert text.count(old) == 1
        (tmp_path / "b.jsonl").write_text(text.replace(old, new))
        done = tree.coffeecup("score", tmp_path / "b.jsonl")
        assert done.returncode == 1 and words in done.stderr
    (tmp_path / "cut.jsonl").write_text("".join(text.splitlines(keepends=True)[:5]))
    assert "2 of the 5 planned measurements were done" in tree.coffeecup("score", tmp_path / "cut.jsonl").stderr


def test_it_is_judged_by_its_reference_and_by_a_contract(tree, tmp_path):
    [case] = [
        case
        for run in json.loads(tree.sessions[0].read_text())["runs"]
        for case in run["testcases"]
        if not case["fixture"]
    ]
    value, reference, _, upper, unit, result = case["perfvalues"]["local:default:barrier_time"]
    assert (reference, upper, unit, result) == (1e6, 0.5, "us", "pass") and 0 < value < 1e6
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    done = tree.coffeecup("accept", tmp_path / "contract.yaml", *tree.sessions, "-o", tmp_path / "a.html")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_tracked(tree, tmp_path):
    done = tree.coffeecup("history", *tree.sessions, "--figures", tmp_path)
    assert done.returncode == 0 and "barrier slowest_barrier_time on 2 processes of local:default" in done.stdout
    assert list(tmp_path.glob("history-*.svg"))
    done = tree.coffeecup("site", "report", *tree.sessions, "-o", tmp_path / "site.html")
    assert done.returncode == 0 and "barrier_time" in (tmp_path / "site.html").read_text()


def test_the_check_of_a_site_knows_it(tree):
    assert "barrier on local: " in tree.coffeecup("site", "check", "local").stdout

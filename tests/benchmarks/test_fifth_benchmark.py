# SPDX-License-Identifier: Apache-2.0
"""A fifth benchmark, the one of docs/add-a-benchmark.md: a folder per layer, and no existing file is changed for `make
run` to build it, by CMake or Spack, to run it in its quick form, to watch and to score it, and for it to be plotted,
tracked and judged. test_docs.py runs the commands of the page; here is what the page does not show."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import builds
import documented
import pandas as pd
import pytest
import yaml
from builds import ROOT
from conftest import COFFEECUP, REFRAME
from logs_made import sha256

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
        path.relative_to(folder): sha256(path)
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", "output"} & set(path.parts)
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of this tree with the made-up benchmark added, a session that ran it twice, and `coffeecup` of the
    copy."""
    folder = tmp_path_factory.mktemp("fifth") / "tree"
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(words, cwd=ROOT, text=True).split():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    before = hashes(folder)
    for step in documented.steps(*documented.ADD_A_BENCHMARK):
        if isinstance(step, documented.File):
            assert not (folder / step.path).exists()
            step.follow(folder, {})
    (folder / "reference_values" / "barrier.yaml").write_text(REFERENCES)
    recipes = folder / "spack-repo" / "spack_repo" / "coffeecup" / "packages"
    (recipes / "barrier").mkdir()
    recipe = (recipes / "b_eff" / "package.py").read_text()
    (recipes / "barrier" / "package.py").write_text(recipe.replace("b_eff", "barrier").replace("BEff", "Barrier"))
    (folder / ".venv").symlink_to(sys.prefix)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RFM_", "SPACK_", "MAKE"))}
    clean["PATH"] = os.pathsep.join(
        part for part in clean["PATH"].split(os.pathsep) if not Path(part, "spack").exists()
    )
    clean |= {"PYTHONPATH": str(folder), "RFM_SQLITE_DB_FILE": str(folder.parent / "results.db")}
    clean["CCACHE_BASEDIR"] = str(folder)

    def run(*command, cwd=folder.parent, **more):
        return builds.run(list(map(str, command)), cwd=cwd, env=clean | more)

    contract = folder.parent / "contract.yaml"
    contract.write_text(CONTRACT)
    nonce = run(COFFEECUP, "accept", "begin", contract).stdout.strip().partition("=")[2]
    options = "REFRAME_OPTIONS=-n ^barrier%num_processes=2 -S builder=cmake --repeat=2"
    done = run("make", "--old-file=setup", "run", options, cwd=folder, COFFEECUP_ACCEPTANCE=nonce)
    assert done.returncode == 0, done.stdout + done.stderr
    [session] = folder.glob("output/*/session.json")
    log, _ = (session.parent / "output").rglob("barrier.jsonl")
    made = {"folder": folder, "before": before, "printed": done.stdout, "log": log}
    made |= {"session": session, "contract": contract}
    return SimpleNamespace(run=run, coffeecup=partial(run, COFFEECUP), **made)


def test_no_file_that_was_there_had_to_change(tree):
    after = hashes(tree.folder)
    assert {name: after.get(name) for name in tree.before} == tree.before
    places = {path.parts[0] for path in after.keys() - tree.before.keys()}
    assert places == {"kernels", "postprocess", "reframe_checks", "reference_values", "spack-repo"}


def test_make_run_takes_its_quick_form_watches_it_and_reports_it(tree):
    assert "barrier on 2 processes: 3 of 3 measurements, complete" in tree.printed
    assert "Not official: 3 repetitions, the rule is 5." in tree.printed
    assert "A barrier over all processes takes" in (tree.folder / "output" / "report.html").read_text()


def test_it_is_a_package_of_the_spack_environment(tree):
    """A dry run writes the environment and calls Spack for its version only, for which a script stands in."""
    spack = tree.folder.parent / "bin" / "spack"
    spack.parent.mkdir()
    spack.write_text("#!/bin/sh\necho 1.1.0\n")
    spack.chmod(0o755)
    words = ["-C", "site_configs/local/settings.py", "-c", "reframe_checks", "-n", "^barrier%num_processes=2"]
    path = os.pathsep.join([str(spack.parent), os.environ["PATH"]])
    done = tree.run(*REFRAME, *words, "--dry-run", "-S", "builder=spack", cwd=tree.folder, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    [environment] = (tree.folder / "output" / "spack").glob("*/spack.yaml")
    content = yaml.safe_load(environment.read_text())["spack"]
    assert content["specs"] == [f"{name}@main" for name in ("b-eff", "b-eff-io", "barrier", "ftio", "priomark")]
    assert content["develop"]["barrier"] == {"spec": "barrier@=main", "path": str(tree.folder / "kernels")}
    [script] = (tree.folder / "output" / "stage").glob("local/default/mpi/barrier_build*/rfm_build.sh")
    assert f"{spack} -e {environment.parent} install --only-concrete barrier" in script.read_text()


def test_it_is_scored_and_plotted(tree, tmp_path):
    [score] = json.loads(tree.coffeecup("score", "--json", tree.log).stdout)
    assert score["benchmark"] == "barrier" and list(score["metrics"]) == ["barrier_time", "slowest_barrier_time"]
    records = map(json.loads, tree.log.open())
    measured = sorted(record["elapsed_seconds"] for record in records if record["record"] == "measurement")
    assert score["metrics"]["barrier_time"]["value"] == pytest.approx(measured[1] / 1000 * 1e6)
    written = ["-o", tmp_path / "r.html", "--figures", tmp_path / "figures"]
    done = tree.coffeecup("report", tree.log, "--session", tree.session, *written)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "… slowest repetition" in page and "Message Passing Interface Forum" in page and "Rabenseifner" not in page
    assert len(pd.read_csv(next((tmp_path / "figures").glob("*-repetitions.csv")))) == 3


def test_a_log_that_breaks_its_rules_or_its_schema_is_refused(tree, tmp_path):
    text = tree.log.read_text()
    for old, new, words in (
        ('"repetition":2,', '"repetition":3,', "in another order"),
        ('"record":"plan",', '"record":"plan","more":1,', "plan record"),
    ):
        assert text.count(old) == 1
        (tmp_path / "b.jsonl").write_text(text.replace(old, new))
        done = tree.coffeecup("score", tmp_path / "b.jsonl")
        assert done.returncode == 1 and words in done.stderr
    (tmp_path / "cut.jsonl").write_text("".join(text.splitlines(keepends=True)[:6]))
    assert "2 of the 3 planned measurements were done" in tree.coffeecup("score", tmp_path / "cut.jsonl").stderr


def test_it_is_judged_by_its_reference_and_by_a_contract(tree, tmp_path):
    runs = json.loads(tree.session.read_text())["runs"]
    case, _ = [case for run in runs for case in run["testcases"] if not case["fixture"]]
    value, reference, _, upper, unit, result = case["perfvalues"]["local:default:barrier_time"]
    assert (reference, upper, unit, result) == (1e6, 0.5, "us", "pass") and 0 < value < 1e6
    done = tree.coffeecup("accept", tree.contract, tree.session, "-o", tmp_path / "a.html")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_tracked(tree, tmp_path):
    done = tree.coffeecup("history", tree.session, "--figures", tmp_path)
    assert done.returncode == 0 and "barrier slowest_barrier_time on 2 processes of local:default" in done.stdout
    assert list(tmp_path.glob("history-*.svg"))
    done = tree.coffeecup("site", "report", tree.session, "-o", tmp_path / "site.html")
    assert done.returncode == 0 and "barrier_time" in (tmp_path / "site.html").read_text()


def test_the_check_of_a_site_knows_it(tree):
    assert "barrier on local: " in tree.coffeecup("site", "check", "local").stdout

# SPDX-License-Identifier: Apache-2.0
"""The first commands of a new user: without a configuration, on a login node, on one core, and as the pages show
them."""

import os
import re
import shlex
from types import SimpleNamespace

import pytest
from builds import ROOT, executable
from check_runs import configuration
from conftest import CHECKS, LOCAL, REFRAME
from reframe.frontend.filters import have_any_name

CHECKS_OF = "b_eff"


# Without a configuration


@pytest.mark.parametrize(("command", "action"), [("sbatch", "-r"), ("qsub", "-L"), ("flux", "-r"), ("bsub", "-L")])
def test_no_check_runs_on_a_machine_with_a_scheduler_and_no_configuration(
    reframe, tmp_path, no_scheduler, command, action
):
    path = f"{executable(tmp_path / 'scheduler' / command, 'exit 1').parent}:{no_scheduler['PATH']}"
    session = reframe(action, config=None, env={"PATH": path})
    assert session.returncode == 1 and not session.report
    [said] = [line for line in session.output.splitlines() if line.startswith("coffeecup: ")]
    assert f"this machine has `{command}` and may be a login node" in said
    assert all(part in said for part in ("`coffeecup site new NAME`", "`coffeecup site overlay`", f"`-C {LOCAL}`"))
    assert not list((tmp_path / "stage").rglob("*"))


def test_listed_without_a_configuration_where_there_is_no_scheduler(reframe, no_scheduler):
    session = reframe("-L", config=None, env=no_scheduler)
    assert session.returncode == 0 and "- b_eff %" in session.output, session.output


def test_the_local_configuration_runs_beside_a_scheduler(reframe, tmp_path):
    path = f"{executable(tmp_path / 'scheduler' / 'sbatch', 'exit 1').parent}:{os.environ['PATH']}"
    session = reframe("-L", env={"PATH": path})
    assert session.returncode == 0 and "- b_eff %num_processes=2 " in session.output, session.output


def test_one_core_is_refused_where_processes_may_not_share_it(reframe, no_scheduler):
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *REFRAME]
    session = reframe("-r", config=None, env=no_scheduler, command=one_core)
    assert session.returncode == 1 and "PASSED" not in session.output
    [said] = [line for line in session.output.splitlines() if line.startswith("coffeecup: ")]
    assert "no check runs on generic:default: one core is too few for 2 processes" in said and f"`-C {LOCAL}`" in said
    shared = reframe("-L", command=one_core)  # as `make run` does
    assert re.findall(r"^- b_eff %num_processes=(\d+) ", shared.output, re.MULTILINE) == ["2", "4"]


# The examples of the pages


def test_options_of_the_pages_for_all_checks_are_taken_without_a_warning(reframe):
    """ReFrame warns that a variable was not set if a check or a build lacks it."""
    names = {name for page in ROOT.glob("docs/*.md") for name in re.findall(r"-S (\w+)=", page.read_text())}
    assert {"history", "thresholds", "build_per", "num_nodes"} <= names
    values = {"num_nodes": 1, "require_reference": "true"}
    session = reframe("-L", *(f"-S{name}={values.get(name, 'x')}" for name in names), checks=CHECKS)
    assert session.returncode == 0 and "- b_eff_io %" in session.output, session.output
    assert "WARNING" not in session.output


FILE_SYSTEMS = [{"name": name, "directory": "/tmp"} for name in ("scratch", "scratch2")]
OF_NODE = {"cores_per_node": 24, "devices_per_node": 4, "device_memory": "cuda", "file_systems": FILE_SYSTEMS}


@pytest.fixture
def cluster(tmp_path):
    batch = {"scheduler": "slurm", "launcher": "srun", "features": ["gpu", "load"]}
    sizes = {"node": 1, "nodes": 8}
    partitions = [batch | {"name": name, "extras": OF_NODE | {"num_nodes": count}} for name, count in sizes.items()]
    return configuration(tmp_path, *partitions, of="cluster")


def pages():
    """All but those whose examples are tests of other suites."""
    return [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.stem != "any-suite")]


def examples():
    """(page, its text from the last heading to the example, expression) of each `-n EXPRESSION`."""
    for page in pages():
        text = page.read_text()
        for found in re.finditer(r"(?:reframe .*(?:\\\n.*)?|`)-n ('(?!\^NAME)[^']+'|\w+)", text):
            before = re.split(r"^(?=#+ )", text[: found.start(1)], flags=re.MULTILINE)[-1]
            yield page, before, found[1].strip("'")


def test_each_selection_of_a_page_selects_what_its_text_names(reframe, cluster):
    """That is the one check that the text names last, at the parameters of the expression."""
    session = reframe("-L", config=cluster, checks=ROOT / "reframe_checks")
    # What another check depends on is listed below it; fixtures have a scope.
    names = re.findall(r"^(?:- | +\^)(\w[^~\n]*?) /\w+$", session.output, re.MULTILINE)
    cases = [SimpleNamespace(check=SimpleNamespace(display_name=name)) for name in names]
    checks = {name.split()[0] for name in names}
    assert checks >= {"b_eff", "b_eff_gpu", "b_eff_io", "b_eff_io_load", "b_eff_load", "ftio", "priomark"}
    found = list(examples())
    assert len(found) > 8
    for page, before, expression in found:
        if page.stem in ("add-a-benchmark", "add-figures-and-a-check"):  # another test follows these pages
            continue
        assert (named := re.findall(rf"\b({'|'.join(checks)})\b", f"{page.stem}\n{before}")), (page, before)
        selected = [case.check.display_name for case in filter(have_any_name([expression]), cases)]
        assert {name.split()[0] for name in selected} == {named[-1]}, (page.name, expression)
        for parameter, value in re.findall(r"(\w+)=(\w+)", expression):
            assert {re.search(rf"%{parameter}=(\w+)", name)[1] for name in selected} == {value}, (page.name, expression)


@pytest.mark.parametrize("page", ["README.md", "docs/your-configuration.md"])
def test_b_eff_on_four_nodes_of_a_cluster(reframe, cluster, tmp_path, page):
    """The command of the page in a dry run, and its job script where the page says."""
    text = (ROOT / page).read_text()
    [command] = re.findall(
        r"^    reframe .*(?:\\\n.*)?-c reframe_checks -r (-n '\S+' -S num_nodes=4)$", text, re.MULTILINE
    )
    [place] = re.findall(r"`([^`]*/<partition>/<environment>/\S*)`", text.replace("\n", " "))
    stage = {"<site>": "cluster", "<system>": "cluster", "output/<site>/stage": "stage", "<stage directory>": "stage"}
    for name in sorted(stage, key=len, reverse=True):
        place = place.replace(name, stage[name])
    session = reframe("--dry-run", *shlex.split(command), "--system=cluster:nodes", config=cluster)
    assert session.returncode == 0, session.output
    assert [case["name"] for case in session.cases] == ["b_eff %num_processes=given"]
    place = place.replace("<partition>", "nodes").replace("<environment>", "mpi").replace("<hash>", "*")
    [script] = tmp_path.glob(place)
    assert "#SBATCH --ntasks=96\n#SBATCH --ntasks-per-node=24\n" in script.read_text()

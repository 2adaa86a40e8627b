# SPDX-License-Identifier: Apache-2.0
"""`coffeecup site overlay` and the overlays that it writes: they complete a configuration that must not be changed, and
a wrong one is refused in one sentence."""

import os
from types import SimpleNamespace

import builds
import pytest
import yaml
from conftest import CHECKS, COFFEECUP
from foreign_made import LOGIN, LSF, OF_PBS, PBS, of_cores

from coffeecup.reframe_checks.vocabulary import OVERLAY, schema_error

CHECKS_OF = "b_eff"


@pytest.fixture
def overlay(centre):
    """Writes an overlay of a configuration; `answers` as for `centre`."""

    def run(partitions, answers=(), system="centre"):
        file, path = centre(partitions, answers)
        done = builds.run([COFFEECUP, "site", "overlay", file, f"--system={system}"], env=os.environ | path)
        written = file.with_name("centre.coffeecup.yaml")
        return SimpleNamespace(code=done.returncode, text=done.stdout + done.stderr, file=written)

    return run


def test_overlay_has_the_facts_of_the_scheduler_and_needs_it_no_more(overlay, foreign):
    made = overlay([LOGIN, PBS], OF_PBS)
    assert made.code == 0, made.text
    entries = yaml.safe_load(made.file.read_text())["partitions"]
    facts = {"num_nodes": 3, "cores_per_node": 128, "max_minutes": 1440, "max_nodes": 3}
    assert entries["login"] == {"features": ["login"]}
    assert entries["batch"]["environs"] == ["gnu-mpi"] and facts.items() <= entries["batch"]["extras"].items()
    assert "num_nodes: 3  # qstat and pbsnodes" in made.file.read_text()
    assert "look: partition 'batch': checks use all 3 nodes: lower max_nodes" in made.text
    assert made.text.rstrip().endswith("--system=centre -c reframe_checks -L") and "missing:" not in made.text
    assert foreign([LOGIN, PBS]).b_eff == [("batch", "gnu-mpi", size) for size in (128, 256, 384)]


def test_overlay_names_what_nobody_knows_and_is_completed_by_hand(overlay, foreign):
    made = overlay([LOGIN, LSF])
    assert made.code == 0, made.text
    assert "missing: num_nodes of batch, cores_per_node of batch: no check runs without it" in made.text
    assert "next:" not in made.text
    text = made.file.read_text().replace("# LOOK: num_nodes: N", "num_nodes: 4")
    made.file.write_text(text.replace("# LOOK: cores_per_node: N", "cores_per_node: 40"))
    assert foreign([LOGIN, LSF]).b_eff == [("batch", "gnu-mpi", size) for size in (40, 80, 160)]
    again = overlay([LOGIN, LSF])
    assert again.code == 2 and "already exists" in again.text
    assert "num_nodes: 4" in made.file.read_text()


def test_overlay_comes_before_the_configuration(foreign, tmp_path):
    entry = {"environs": ["builtin"], "extras": {"num_nodes": 4, "kernels": ["b_eff"]}}
    (tmp_path / "centre.coffeecup.yaml").write_text(yaml.safe_dump({"partitions": {"p": entry}}))
    made = foreign([of_cores(environs=("builtin", "gnu", "gnu-mpi"))], checks=CHECKS)
    assert made.b_eff == [("p", "builtin", size) for size in (8, 16, 32)] and len(made.cases) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("partitions: [", "cannot be read"),
        ("partitions: {p: {},\n p: {}}", "line 2: the key 'p' occurs twice"),
        ("partitions: {q: {}}", "system 'centre' has no partition 'q': there are login, p"),
        ("partitions: {p: {extras: {nodes: 4}}}", "Additional properties are not allowed ('nodes' was unexpected)"),
        ("partitions: {p: {environs: [intel]}}", "partition 'p' has no environment 'intel'"),
    ],
)
def test_wrong_overlay_is_refused_in_one_sentence(foreign, tmp_path, text, says):
    (tmp_path / "centre.coffeecup.yaml").write_text(text)
    made = foreign([LOGIN, of_cores(environs=("builtin", "gnu", "gnu-mpi"))])
    assert made.session.returncode == 1
    assert made.session.output.count(says) == 1, made.session.output
    assert "Traceback" not in made.session.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", '"partitions" is a required property'),
        ("- p", "is not of type"),
        ("partitions: {p: {extra: {}}}", "['partitions']['p']: Additional properties are not allowed ('extra'"),
        ("partitions: {p: }", "['p']: null is not of type"),
        ("partitions: {p: {features: [logon]}}", "['features'][0]: \"logon\" is not one of"),
        ("partitions: {p: {extras: {num_nodes: many}}}", "['num_nodes']: \"many\" is not of type"),
    ],
)
def test_overlay_has_to_fit_its_schema(text, says):
    assert says in schema_error(OVERLAY, yaml.safe_load(text))


@pytest.mark.parametrize("system", ["center", "../center"])
def test_overlay_of_an_unknown_system_is_refused(overlay, system):
    made = overlay([LSF], system=system)
    assert made.code == 2 and f"requested system: '{system}'" in " ".join(made.text.replace("│", " ").split())


def test_overlay_of_one_partition_is_where_the_checks_read_it(overlay):
    made = overlay([LOGIN, LSF], system="centre:batch")
    assert made.code == 0 and list(yaml.safe_load(made.file.read_text())["partitions"]) == ["batch"], made.text

# SPDX-License-Identifier: Apache-2.0
"""Site configurations: valid, with the one vocabulary, and turned into the right sizes and job scripts. And the local
set-up."""

import os
import re
from types import SimpleNamespace

import pytest
from builds import ROOT, executable, run
from check_runs import configuration
from conftest import CHECKS, Reframe

from coffeecup.reframe_checks import vocabulary
from coffeecup.site_configs.common.slurm import closed
from coffeecup.site_configs.common.tree import read_configuration

SITES = sorted((ROOT / "site_configs").glob("*/settings.py"))


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.parent.name)
def test_configuration_is_valid_for_reframe(path, tmp_path):
    session = Reframe(tmp_path)("--show-config", config=path)
    assert session.returncode == 0, session.output


def test_readme_shows_the_table_that_checks_use():
    """One table: reframe_checks/vocabulary.py. `python -c 'from coffeecup.reframe_checks import vocabulary;
    print(vocabulary.markdown())'`"""
    assert vocabulary.markdown() in (ROOT / "docs" / "vocabulary.md").read_text()


def test_every_word_of_the_table_is_used_by_a_check():
    """A word that nothing asks for would be a promise that is not kept."""
    modules = (ROOT / "reframe_checks").glob("*.py")
    source = "".join(module.read_text() for module in modules if module.name != "vocabulary.py")
    for words in (vocabulary.Feature, vocabulary.Extra):
        for word in words:
            assert f"{words.__name__}.{word.name}" in source, word


def test_checks_name_no_site():
    systems = [system["name"] for path in SITES for system in read_configuration(path)["systems"]]
    sites = {*(path.parent.name for path in SITES), *systems}
    for module in (ROOT / "reframe_checks").glob("*.py"):
        for site in sites - {"local"}:  # ReFrame's own word for its launcher and scheduler
            assert site not in module.read_text(), f"{module.name} names {site}"


# Sizes: lists by hand, through a configuration, so that no function of ours computes its own expectation


def partition(name, scheduler="squeue", launcher="srun", **more):
    return {"name": name, "scheduler": scheduler, "launcher": launcher, **more}


def dry_run(folder, *made):
    """Dry run on made partitions: {partition: {size: job script}}, and the session."""
    session = Reframe(folder, CHECKS / "b_eff.py")("--dry-run", "-n", "^b_eff%", config=configuration(folder, *made))
    scripts = {}
    for case in session.cases:
        place = f"stage/made/{case['partition']}/mpi/b_eff_{case['hashcode']}/rfm_job.sh"
        for script in folder.glob(place):
            scripts.setdefault(case["partition"], {})[case["num_processes"]] = script.read_text()
    return SimpleNamespace(scripts=scripts, session=session)


SIZES = {
    "p0": ({"cores_per_node": 48, "num_nodes": 6}, [48, 96, 192, 288]),
    "p1": ({"cores_per_node": 48, "num_nodes": 8}, [48, 96, 192, 384]),
    "p2": ({"cores_per_node": 48, "num_nodes": 600, "max_nodes": 5}, [48, 96, 192, 240]),
    "p3": ({"cores_per_node": 1, "num_nodes": 4}, [2, 4]),
    "p4": ({"cores_per_node": 12, "num_nodes": 1}, [2, 4, 8, 12]),
    "p5": ({"cores_per_node": 16, "num_nodes": 1}, [2, 4, 8, 16]),
    "p6": ({"cores_per_node": 48, "num_nodes": 600, "max_nodes": 1}, [2, 4, 8, 16, 32, 48]),
    "a": ({"cores_per_node": 8, "num_nodes": 4}, [8, 16, 32]),
    "b": ({"cores_per_node": 4, "num_nodes": 8}, [4, 8, 16, 32]),
    "c": ({"cores_per_node": 8, "num_nodes": 1}, [2, 4, 8]),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A dry run on partitions of these sizes, on one that may be overcommitted, and on a login node."""
    front = partition("front", scheduler="local", launcher="local", features=["login"])
    crowded = partition("crowded", extras={"cores_per_node": 2, "num_nodes": 1}, features=["overcommit"])
    sizes = (partition(name, extras=extras) for name, (extras, _) in SIZES.items())
    return dry_run(tmp_path_factory.mktemp("sites"), *sizes, crowded, front)


def tags_of(made, *partitions):
    cases = [case for case in made.session.cases if case["partition"] in partitions]
    return {(c["partition"], c["num_processes"]): set(c["tags"]) - {"communication"} for c in cases}


def test_each_partition_gets_its_own_sizes_and_a_login_partition_none(made):
    expected = {name: sizes for name, (_, sizes) in SIZES.items()} | {"crowded": [2, 4]}
    assert {name: sorted(scripts) for name, scripts in made.scripts.items()} == expected, made.session.output
    assert made.session.report["session_info"]["num_skipped"] == 0


def test_tags_belong_to_a_size_on_one_partition(made):
    """8 processes are one node, two nodes and the whole of partitions a, b and c; 4, 8 and 16 are elsewhere other
    sizes."""
    assert tags_of(made, "a", "b", "c") == {
        ("a", 8): {"one_node", "smallest"},
        ("a", 16): {"two_nodes"},
        ("a", 32): {"four_nodes", "largest"},
        ("b", 4): {"one_node", "smallest"},
        ("b", 8): {"two_nodes"},
        ("b", 16): {"four_nodes"},
        ("b", 32): {"largest"},
        ("c", 2): {"one_node", "smallest"},
        ("c", 4): {"one_node"},
        ("c", 8): {"one_node", "largest"},
    }


def test_overcommit_gives_a_small_machine_several_sizes(made):
    """On one node still."""
    expected = {("crowded", 2): {"smallest", "one_node"}, ("crowded", 4): {"largest", "one_node"}}
    assert tags_of(made, "crowded") == expected


def test_job_script_asks_for_whole_nodes_and_fills_them(made):
    script = made.scripts["p0"][96]
    for line in ("#SBATCH --ntasks=96", "#SBATCH --ntasks-per-node=48", "#SBATCH --exclusive"):
        assert line in script
    assert re.search(r"#SBATCH --time=0:13:0$", script, re.MULTILINE)  # twice the kernel's 4 minutes, and 5 more
    assert re.search(r"^srun .*bin/b_eff --log b_eff.jsonl$", script, re.MULTILINE)
    assert "flock" not in script


def test_partition_whose_cores_are_unknown_is_refused_and_costs_no_other_one(tmp_path):
    known = {"cores_per_node": 48, "num_nodes": 1}
    made = dry_run(tmp_path, partition("p", extras={"num_nodes": 4}), partition("q", extras=known))
    assert made.session.returncode == 1 and "add extras {'cores_per_node': N}" in made.session.output
    assert sorted(made.scripts) == ["q"]


# The local set-up

SETUP = ROOT / "site_configs" / "local" / "setup"


@pytest.fixture
def stubs(tmp_path):
    """A folder for PATH with commands that stand in for the system's; `installed` tells whether apt-get was called."""
    folder = tmp_path / "stubs"
    executable(folder / "apt-get", f"touch {tmp_path}/installed")
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    return SimpleNamespace(
        add=lambda name, script: executable(folder / name, script),
        run=lambda: run([SETUP], env=environment),
        installed=tmp_path / "installed",
    )


@pytest.mark.parametrize("debian", ["exit 0", "exit 1"], ids=["Debian", "elsewhere"])
@pytest.mark.parametrize("missing", ["jansson", "libcrypto", "libconfig", "fftw3", ""])
def test_setup_without_root_names_what_is_missing_and_never_touches_the_system(stubs, debian, missing):
    """Tools may come from Spack or from modules: what dpkg says is of no interest. The tree's Python environment is up
    to date."""
    stubs.add("grep", debian)  # ID=debian
    stubs.add("id", "echo 1000")
    stubs.add("dpkg-query", "exit 1")
    stubs.add("pkg-config", f"[ $2 != {missing} ]" if missing else "exit 0")
    done = stubs.run()
    assert done.returncode == bool(missing), done.stderr
    if missing:
        assert f"missing: {missing} (with its pkg-config file); only root on Debian" in done.stderr
        assert "apt-get install gcc" in done.stderr and "spack install" in done.stderr
    assert not stubs.installed.exists()


def test_setup_refuses_an_unknown_argument():
    done = run([SETUP, "tests"])
    assert (done.returncode, "usage:" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["a tree", "a:b", "$x", *(f"a{special}b" for special in "!\"#&'()*;<>?[\\]^`{|}")])
def test_setup_refuses_a_path_that_reframe_cannot_handle(tmp_path, name):
    copied = tmp_path / name / "site_configs" / "local" / "setup"
    copied.parent.mkdir(parents=True)
    copied.write_bytes(SETUP.read_bytes())
    done = run(["bash", copied])
    assert done.returncode == 1 and "move this tree" in done.stderr


def test_a_group_without_a_name_does_not_end_the_look_at_slurms_partitions(monkeypatch):
    """A directory service may list a number only."""
    monkeypatch.setattr(os, "getgrouplist", lambda name, primary: [4294900000])
    assert closed({"AllowGroups": "physics"}) == "it accepts the groups physics only, you are in 4294900000"
    monkeypatch.setattr(os, "getgrouplist", lambda name, primary: [4294900000, 0])
    assert closed({"AllowGroups": "physics,root"}) == "" == closed({"AllowGroups": "ALL"})

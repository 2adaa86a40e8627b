# SPDX-License-Identifier: Apache-2.0
"""The Spack package and environment: the recipe against the kernels' CMake options, and, where Spack is, the real
thing."""

import ast
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from builds import OPEN_MPI, ROOT

from reframe_checks.spack import environment_text, make_environment, packages

PACKAGES = ROOT / "spack-repo" / "spack_repo" / "coffeecup" / "packages"
RECIPES = sorted(PACKAGES.glob("*/package.py"))
COMMON = ROOT / "site_configs" / "common"


def package_class(recipe):
    return next(node for node in ast.parse(recipe.read_text()).body if isinstance(node, ast.ClassDef))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_recipe_is_named_as_spack_wants_it_and_explains_itself(recipe):
    found = package_class(recipe)
    assert found.name == "".join(part.capitalize() for part in recipe.parent.name.split("_"))
    assert len(ast.get_docstring(found)) > 100
    tests = [node for node in found.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert tests, "no stand-alone test"
    assert all(len(ast.get_docstring(test).splitlines()) == 1 for test in tests)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_each_option_of_the_recipe_is_one_of_cmake(recipe):
    defined = set(re.findall(r'self\.define\("(COFFEECUP_\w+)"', recipe.read_text()))
    options = set(
        re.findall(r"^(?:set|option)\((COFFEECUP_\w+)", (ROOT / "kernels" / "CMakeLists.txt").read_text(), re.MULTILINE)
    )
    assert {"COFFEECUP_BENCHMARKS", "COFFEECUP_SPACK_HASH"} <= defined <= options
    assert f'self.define("COFFEECUP_BENCHMARKS", "{recipe.parent.name}")' in recipe.read_text()


ENVIRONMENTS = sorted((ROOT / "site_configs").glob("*/spack.yaml"))


def in_tree(path):
    return Path(path.replace("${COFFEECUP_ROOT}", str(ROOT)))


def test_every_package_is_built_from_its_sources_only():
    environment = yaml.safe_load(environment_text(COMMON / "spack.yaml"))["spack"]
    assert environment["specs"] == ["b-eff", "b-eff-io", "ftio", "priomark"] == packages()
    assert environment["develop"] == {
        name: {"spec": f"{name}@=main", "path": str(ROOT / "kernels")} for name in environment["specs"]
    }
    shared = yaml.safe_load((COMMON / "coffeecup.yaml").read_text())
    assert in_tree(shared["repos"]["coffeecup"]) == PACKAGES.parent


def test_an_environment_with_specs_of_its_own_gets_no_others():
    simulated = ROOT / "site_configs" / "simulated" / "spack.yaml"
    assert yaml.safe_load(environment_text(simulated))["spack"]["specs"] == ["b-eff+simgrid"]


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.parent.name)
def test_environment_stands_on_the_shared_part(path):
    """A site's own requires a target: that of the host that concretises may be newer than compute nodes."""
    environment = yaml.safe_load(environment_text(path))["spack"]
    included = [in_tree(entry["path"]) for entry in environment["include"]]
    assert included[0] == COMMON / "coffeecup.yaml" and all(entry.is_file() for entry in included)
    assert environment["view"] is False
    if path.parent.name not in ("common", "simulated"):
        assert environment["packages"]["all"]["require"][0].startswith("target=")


def test_environment_is_concretised_anew_where_a_part_of_it_has_changed(tmp_path):
    own, part = tmp_path / "spack.yaml", tmp_path / "externals.yaml"
    found = []
    for own_text, part_text in (("a", "b"), ("a", "b"), ("a", "c"), ("c", "b")):
        own.write_text(f"spack: {{specs: [{own_text}]}}")
        part.write_text(part_text)
        found.append(make_environment(tmp_path / "made", "site", own))
        assert yaml.safe_load((found[-1] / "spack.yaml").read_text())["spack"]["specs"] == [own_text]
    assert found[0] == found[1]
    assert len(set(found)) == 3


# With Spack at hand


def spack_command():
    in_root = Path(os.environ.get("SPACK_ROOT", "/nonexistent"), "bin", "spack")
    return shutil.which("spack") or (str(in_root) if in_root.exists() else None)


needs_spack = pytest.mark.skipif(spack_command() is None, reason="no Spack on PATH and none in SPACK_ROOT")


@pytest.fixture
def spack_environment():
    """What ReFrame's environment in these tests leaves out, and Spack on PATH."""
    found = {name: value for name, value in os.environ.items() if name.startswith("SPACK_")}
    return found | {
        "PATH": os.pathsep.join([str(Path(spack_command()).parent), os.environ["PATH"]]),
        "HOME": os.environ["HOME"],
    }


@needs_spack
def test_checks_build_through_spack_and_give_the_same_metrics(reframe, spack_environment):
    options = ["-r", "-n", "b_eff%num_processes=2$", "-S", "b_eff.time_budget=5", "-S", "b_eff.memory_per_process=1MiB"]
    by_spack = reframe(*options, "-S", "builder=spack", env=spack_environment, timeout=900)
    assert by_spack.returncode == 0, by_spack.output
    [case] = by_spack.cases
    assert case["builder"] == "spack"
    assert case["spack_spec"].startswith("b-eff@main")
    assert len(case["spack_hash"]) == 32
    script = Path(case["outputdir"], "rfm_job.sh").read_text()
    assert re.search(r"mpirun .*/b-eff-main-\w{32}/bin/b_eff ", script)
    assert not re.search(r"\bspack (load|env|find|location)", script), "compute nodes are not to call Spack"
    [build] = by_spack.fixtures
    assert Path(build["outputdir"], "spack.lock").stat().st_size > 0
    by_cmake = reframe(*options, "-S", "builder=cmake")
    [other] = by_cmake.cases
    assert case["perfvalues"].keys() == other["perfvalues"].keys()
    units = [{name: value[4] for name, value in found["perfvalues"].items()} for found in (case, other)]
    assert units[0] == units[1]
    for name, value in case["perfvalues"].items():
        print(f"{name}: {value[0]:.4g} by Spack, {other['perfvalues'][name][0]:.4g} by CMake, {value[4]}")


@needs_spack
def test_auto_takes_spack_where_it_is(reframe, spack_environment):
    session = reframe("--dry-run", "-n", "b_eff%num_processes=2$", env=spack_environment)
    assert session.cases[0]["builder"] == "spack", session.output


@needs_spack
def test_audit_and_stand_alone_tests_of_all_packages_pass(tmp_path):
    environment = os.environ | OPEN_MPI | {"COFFEECUP_ROOT": str(ROOT)}
    folder = make_environment(tmp_path, "all", COMMON / "spack.yaml")

    def spack(*arguments):
        done = subprocess.run(
            [spack_command(), *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    names = packages()
    spack("-e", str(folder), "audit", "packages", *names)
    spack("-e", str(folder), "install")
    assert f"{len(names)} passed of {len(names)} specs" in spack("-e", str(folder), "test", "run", *names)


@needs_spack
def test_new_site_has_an_environment_that_spack_makes_concrete(tree, tmp_path, spack_environment):
    """With the packages that the machine has: Spack builds ours and nothing else but its own wrapper and runtime."""
    made = tree.run(
        "new", "here", path=spack_environment["PATH"], **{k: v for k, v in spack_environment.items() if k != "PATH"}
    )
    assert made.code == 0, made.text
    environment = os.environ | {"COFFEECUP_ROOT": str(tree.folder)}
    folder = make_environment(tmp_path, "here", tree.folder / "site_configs" / "here" / "spack.yaml")
    done = subprocess.run(
        [spack_command(), "-e", folder, "concretize"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    specs = json.loads((folder / "spack.lock").read_text())["concrete_specs"].values()
    built = {spec["name"] for spec in specs if "external" not in spec}
    assert built - {"compiler-wrapper", "gcc-runtime"} == set(packages())
    assert {spec["arch"]["target"] for spec in specs if spec["name"] == "ftio"} == {
        "x86_64_v3"
    } or os.uname().machine != "x86_64"


def test_old_spack_is_refused_by_name(reframe, tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    spack = folder / "spack"
    spack.write_text("#!/bin/sh\necho 0.23.1\n")
    spack.chmod(0o755)
    session = reframe(
        "-r",
        "-n",
        "b_eff%num_processes=2$",
        "-S",
        "builder=spack",
        env={"PATH": os.pathsep.join([str(folder), os.environ["PATH"]])},
    )
    assert session.returncode == 1
    assert "is Spack 0.23.1; 1.0.2 is the oldest supported version" in session.fixtures[0]["fail_reason"]

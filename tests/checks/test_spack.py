# SPDX-License-Identifier: Apache-2.0
"""The Spack package and environment: the recipe against the kernels' CMake options, and, where Spack is, the real
thing."""

import ast
import json
import os
import re
import shutil
from pathlib import Path

import modules_made
import pytest
import slurm_made
import yaml
from builds import OPEN_MPI, ROOT, executable, good, run
from check_runs import values
from conftest import COFFEECUP
from modules_made import LIBRARIES

from coffeecup.reframe_checks.spack import environment_text, make_environment, mpi_problem, other_library, packages
from coffeecup.site_configs.common.spack_site import entry_of, fftw, pinned

REPOSITORY = ROOT / "spack-repo" / "spack_repo" / "coffeecup"
PACKAGES = REPOSITORY / "packages"
SHARED = (REPOSITORY / "build_systems" / "kernel.py").read_text()
RECIPES = sorted(PACKAGES.glob("*/package.py"))
COMMON = ROOT / "site_configs" / "common"


def fake_spack(folder, script):
    return executable(folder / "fake" / "spack", script)


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
    defined = set(re.findall(r'self\.define(?:_from_variant)?\("(COFFEECUP_\w+)"', SHARED + recipe.read_text()))
    cmake = (ROOT / "kernels" / "CMakeLists.txt").read_text()
    options = set(re.findall(r"^(?:set|option)\((COFFEECUP_\w+)", cmake, re.MULTILINE))
    assert {"COFFEECUP_BENCHMARKS", "COFFEECUP_SPACK_HASH"} <= defined <= options
    assert f'    benchmark = "{recipe.parent.name}"\n' in recipe.read_text()


def test_each_version_is_a_commit_of_that_version():
    """The newest release gets its version in a commit after its tag, which names the tagged one."""

    def git(*arguments):
        return run(["git", "-C", ROOT, *arguments])

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no history: this is no clone, or a shallow one")
    versions = re.findall(r'version\("([\d.]+)", commit="(\w{40})"\)', SHARED)
    assert len(versions) == SHARED.count("version(") - 1, "besides main"
    entries = re.findall(r"^## (\S+) - (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = {version for version, date in entries if date != "unreleased"}
    assert {version for version, _ in entries[1:]} <= {version for version, _ in versions} <= released
    for version, commit in versions:
        assert f"project(coffeecup VERSION {version} " in git("show", f"{commit}:kernels/CMakeLists.txt").stdout
        assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


ENVIRONMENTS = sorted((ROOT / "site_configs").glob("*/spack.yaml"))


def in_tree(path):
    return Path(path.replace("${COFFEECUP_ROOT}", str(ROOT)))


def test_every_package_is_built_from_its_sources_only():
    environment = yaml.safe_load(environment_text(COMMON / "spack.yaml"))["spack"]
    assert packages() == ["b-eff", "b-eff-io", "ftio", "priomark"]
    assert environment["specs"] == [f"{name}@main" for name in packages()]
    assert environment["develop"] == {
        name: {"spec": f"{name}@=main", "path": str(ROOT / "kernels")} for name in packages()
    }
    shared = yaml.safe_load((COMMON / "coffeecup.yaml").read_text())
    assert in_tree(shared["repos"]["coffeecup"]) == PACKAGES.parent


def test_an_environment_with_specs_of_its_own_gets_no_others():
    simulated = ROOT / "site_configs" / "simulated" / "spack.yaml"
    assert yaml.safe_load(environment_text(simulated))["spack"]["specs"] == ["b-eff@main+simgrid"]


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


# The MPI library of a new site

CENTRE = {"spec": "mpich@4.1.2~cuda device=ch4", "prefix": "/opt/mpich/4.1.2"}
OF_DEBIAN = {"spec": "mpich@4.0.2~hydra device=ch4", "prefix": "/usr"}
OPENMPI = {"spec": "openmpi@4.1.4~atomics schedulers=slurm", "prefix": "/usr"}
DETECTED = {"openmpi": {"externals": [OPENMPI]}, "mpich": {"externals": [OF_DEBIAN, CENTRE]}}
LISTED = {"openmpi": {"externals": [OPENMPI]}, "fftw": {"externals": [{"spec": "fftw@3.3.10", "prefix": "/usr"}]}}


@pytest.mark.parametrize(
    ("mpicc", "library", "expected"),
    [
        ("/opt/mpich/4.1.2/bin/mpicc", "MPICH 4.1.2", ("mpich", CENTRE)),
        ("/usr/bin/mpicc", "Open MPI 4.1.4", ("openmpi", OPENMPI)),
        ("/usr/bin/mpicc", "MPICH 4.0.2", ("mpich", OF_DEBIAN)),
        ("/usr/bin/mpicc", "an MPI library of unknown kind", None),
        ("/opt/other/bin/mpicc", "MPICH 4.1.2", None),
        ("/opt/mpich/4.1.2/wrappers/mpicc", "MPICH 4.1.2", None),
    ],
)
def test_library_of_a_site_is_the_one_with_the_prefix_of_its_mpicc(mpicc, library, expected):
    assert entry_of(mpicc, DETECTED, library) == expected


def test_library_that_spack_did_not_find_is_not_taken_for_its_neighbour():
    alone = {"mpich": {"externals": [OF_DEBIAN]}}
    assert entry_of("/usr/bin/mpicc", alone, "Open MPI 4.1.4") is None
    assert entry_of("/usr/bin/mpicc", alone, "MPICH 4.0.2") == ("mpich", OF_DEBIAN)


def test_library_behind_links_has_the_prefix_of_the_links(tmp_path):
    (tmp_path / "centre" / "bin").mkdir(parents=True)
    (tmp_path / "centre" / "bin" / "mpicc").touch()
    (tmp_path / "default").symlink_to("centre")
    (tmp_path / "module" / "bin").mkdir(parents=True)
    (tmp_path / "module" / "bin" / "mpicc").symlink_to(tmp_path / "centre" / "bin" / "mpicc")
    found = {"mpich": {"externals": [{"spec": "mpich@4.1.2", "prefix": str(tmp_path / "centre")}]}}
    for name in ("centre", "default", "module"):
        expected = "mpich", {"spec": "mpich@4.1.2", "prefix": str(tmp_path / name)}
        assert entry_of(tmp_path / name / "bin" / "mpicc", found, "MPICH 4.1.2") == expected


def test_library_of_a_site_is_required_with_its_modules_in_place_of_what_is_listed():
    assert pinned("mpich", CENTRE, ["gcc/13", "mpich/4.1.2"]) == {
        "mpich:": {"externals": [{**CENTRE, "modules": ["gcc/13", "mpich/4.1.2"]}], "buildable": False},
        "mpi": {"require": ["mpich@=4.1.2"], "buildable": False},
    }
    assert pinned("openmpi", OPENMPI, []) == {
        "openmpi:": {"externals": [OPENMPI], "buildable": False},
        "mpi": {"require": ["openmpi@=4.1.4"], "buildable": False},
    }


def test_listed_fftw_is_used_with_the_listed_library_alone():
    gcc = {"externals": [{"spec": "gcc@12.2.0 languages:='c,fortran'", "prefix": "/usr"}]}
    built = {"fftw:": {"buildable": True}, "gcc:": {**gcc, "buildable": False}}
    assert fftw("mpich", CENTRE, {"gcc": gcc}, LISTED) == built
    assert fftw("openmpi", {**OPENMPI, "prefix": "/opt/openmpi"}, {}, LISTED) == {"fftw:": {"buildable": True}}
    assert fftw("openmpi", OPENMPI, {"gcc": gcc}, LISTED) == {}
    assert fftw("mpich", CENTRE, {"gcc": gcc}, {}) == {}


@pytest.mark.parametrize(
    ("mpi_bin", "compiler", "other"),
    [
        ("/opt/mpich/bin", "/opt/mpich/bin/mpicc", False),
        ("/opt/mpich/bin", "/usr/bin/mpicc", True),
        ("/opt/cray/pe/mpich/bin", "/opt/cray/pe/craype/bin/cc", False),
        ("", "/usr/bin/mpicc", False),
        ("/opt/mpich/bin", None, False),
    ],
)
def test_library_of_spack_is_compared_with_that_of_the_compiler(mpi_bin, compiler, other):
    assert other_library(mpi_bin, compiler) is other


# Whether Spack has to use the MPI library of the partition

CENTRE_ONLY = {"mpi": {"buildable": False}, "mpich": {"externals": [CENTRE]}}
NEWER = {"spec": "mpich@4.11.0", "prefix": "/opt/mpich/4.11.0"}
BOTH = {"mpich": {"externals": [CENTRE, NEWER]}}
MPICC = f"{CENTRE['prefix']}/bin/mpicc"
OTHER_MPICC = "/usr/bin/mpicc"


@pytest.mark.parametrize(
    ("changed", "compiler", "problem"),
    [
        ({}, MPICC, ""),
        ({}, "/opt/cray/pe/craype/bin/cc", ""),
        ({"mpi": {}, "all": {"buildable": False}}, MPICC, ""),
        ({"mpi": {"buildable": False, "require": ["mpich@=4.1.2"]}} | BOTH, MPICC, ""),
        ({"mpi": {"buildable": False, "require": "mpich@4.1"}} | BOTH, MPICC, ""),
        (pinned("mpich", CENTRE, []) | {"mpich": {"externals": [CENTRE]}}, MPICC, ""),
        ({"mpi": {}}, MPICC, "lets Spack build an MPI library of its own"),
        ({"mpi": {"buildable": True}, "all": {"buildable": False}}, MPICC, "lets Spack build an MPI library of its"),
        ({"mpich": {"buildable": False}}, MPICC, "leaves 0 MPI libraries"),
        (BOTH, MPICC, "leaves 2 MPI libraries"),
        ({"openmpi": {"externals": [OPENMPI]}}, MPICC, "leaves 2 MPI libraries"),
        ({"mpi": {"buildable": False, "require": "mpich@4.3"}} | BOTH, MPICC, "leaves 0 MPI libraries"),
        ({"mpi": {"buildable": False, "require": [{"one_of": ["mpich"]}]}}, MPICC, "leaves 0 MPI libraries"),
        ({}, OTHER_MPICC, f"has the MPI library in {CENTRE['prefix']}, but the MPI compiler is {OTHER_MPICC}"),
    ],
)
def test_spack_is_left_no_choice_of_the_mpi_library(changed, compiler, problem):
    found = mpi_problem(CENTRE_ONLY | changed, compiler)
    assert found.startswith(problem) and bool(found) == bool(problem)


@pytest.mark.parametrize(
    ("answer", "builder", "said"),
    [
        ("cat {packages}", "spack", "are built with Spack: {spack} has to use the MPI library of the partition"),
        ("echo packages: {{}}", "cmake", "lets Spack build an MPI library of its own; to use Spack, add the"),
        ("echo 1.1.0", "cmake", "config get packages` fails: it lists no packages"),
        ("echo no such environment >&2; exit 1", "cmake", "config get packages` fails: no such environment"),
    ],
)
def test_auto_takes_spack_only_with_the_mpi_library_of_the_partition(reframe, tmp_path, answer, builder, said):
    """What the fake Spack has is the library of this machine's mpicc."""
    prefix = Path(shutil.which("mpicc")).parent.parent
    packages = tmp_path / "packages.yaml"
    externals = {"externals": [{"spec": "mpich@1", "prefix": str(prefix)}]}
    packages.write_text(yaml.safe_dump({"packages": {"mpi": {"buildable": False}, "mpich": externals}}))
    spack = fake_spack(tmp_path, f'[ "$1" = --version ] && echo 1.1.0 && exit\n{answer.format(packages=packages)}')
    path = f"{spack.parent}:{reframe.environment()['PATH']}"
    session = reframe("--dry-run", "-n", "^b_eff%num_processes=2$", env={"PATH": path})
    assert [case["builder"] for case in session.cases] == [builder], session.output
    lines = [line for line in session.output.splitlines() if line.startswith("coffeecup: kernels are built with ")]
    assert len(lines) == 1 and said.format(spack=spack) in lines[0], session.output


# With Spack at hand


def spack_command():
    in_root = Path(os.environ.get("SPACK_ROOT", "/nonexistent"), "bin", "spack")
    return shutil.which("spack") or (str(in_root) if in_root.exists() else None)


needs_spack = pytest.mark.skipif(spack_command() is None, reason="no Spack on PATH and none in SPACK_ROOT")


def spack(folder, environment, *arguments):
    """What the command prints that does this in an environment of Spack."""
    return good(run([spack_command(), "-e", folder, *arguments], env=environment, timeout=None)).stdout


@pytest.fixture
def spack_environment():
    """What ReFrame's environment in these tests leaves out, and Spack on PATH."""
    found = {name: value for name, value in os.environ.items() if name.startswith("SPACK_")}
    path = os.pathsep.join([str(Path(spack_command()).parent), os.environ["PATH"]])
    return found | {"PATH": path, "HOME": os.environ["HOME"]}


@needs_spack
def test_checks_build_through_spack_and_give_the_same_metrics(reframe, spack_environment):
    short = values("b_eff.time_budget=2", "b_eff.memory_per_process=1MiB")
    options = ["-r", "-n", "b_eff%num_processes=2$", *short]
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

    names = packages()
    spack(folder, environment, "audit", "packages", *names)
    spack(folder, environment, "install")
    assert f"{len(names)} passed of {len(names)} specs" in spack(folder, environment, "test", "run", *names)


@needs_spack
def test_new_site_has_an_environment_that_spack_makes_concrete(tree, tmp_path, spack_environment):
    """With the packages that the machine has: Spack builds ours and nothing else but its own wrapper and runtime."""
    more = {name: value for name, value in spack_environment.items() if name != "PATH"}
    made = tree.run("new", "here", path=spack_environment["PATH"], **more)
    assert made.code == 0, made.text
    environment = os.environ | {"COFFEECUP_ROOT": str(tree.folder)}
    folder = make_environment(tmp_path, "here", tree.folder / "site_configs" / "here" / "spack.yaml")
    spack(folder, environment, "concretize")
    specs = json.loads((folder / "spack.lock").read_text())["concrete_specs"].values()
    built = {spec["name"] for spec in specs if "external" not in spec}
    assert built - {"compiler-wrapper", "gcc-runtime"} == set(packages())
    targets = {spec["arch"]["target"] for spec in specs if spec["name"] == "ftio"}
    assert targets == {"x86_64_v3"} or os.uname().machine != "x86_64"


@pytest.fixture
def site(tree, spack_environment):
    """`site(library, ...)` runs `coffeecup site` in a shell that has loaded the module of an MPI library."""
    modules = modules_made.write_modules(tree.scratch)

    def of_site(library, *arguments):
        words = [*modules_made.shell(modules, library), COFFEECUP, "site", *arguments]
        done = run(words, cwd=tree.folder, env=os.environ | OPEN_MPI | spack_environment, timeout=None)
        print(done.stdout + done.stderr)
        return done

    return of_site


@needs_spack
@pytest.mark.parametrize("library", LIBRARIES)
def test_new_site_builds_with_the_library_of_the_loaded_module(site, library):
    assert site(library, "new", "here").returncode == 0
    checked = site(library, "check", "here", "--submit")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    jobs = re.findall(r"^ok +job on here:default, environment mpi, .*$", checked.stdout, re.MULTILINE)
    assert jobs
    assert all(LIBRARIES[library] in job and "as compiled, built with spack" in job for job in jobs)


@needs_spack
def test_site_whose_spack_environment_has_another_library_is_built_without_spack(site, tree):
    """common/debian12.yaml lists Debian's Open MPI alone."""
    assert site("mpich", "new", "here").returncode == 0
    (tree.folder / "site_configs" / "here" / "externals.yaml").write_text("packages: {}\n")
    checked = site("mpich", "check", "here", "--submit")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    jobs = re.findall(r"^ok +job on here:default, environment mpi, .*$", checked.stdout, re.MULTILINE)
    assert jobs
    assert all(LIBRARIES["mpich"] in job and "as compiled, built with cmake" in job for job in jobs)


@needs_spack
def test_stand_alone_test_runs_where_srun_alone_starts_processes(tmp_path):
    """An Open MPI without a mpirun of its own, as it is configured for a site's Slurm."""
    if reason := slurm_made.missing():
        pytest.skip(reason)
    modules_made.write_modules(tmp_path)
    prefix = tmp_path / "openmpi"
    for name in ("mpirun", "mpiexec"):
        (prefix / "bin" / name).unlink()
    own = tmp_path / "spack.yaml"
    content = yaml.safe_load((COMMON / "spack.yaml").read_text())
    entry = {"spec": "openmpi@4.1.4", "prefix": str(prefix)}
    content["spack"]["packages"] = pinned("openmpi", entry, [])
    content["spack"]["specs"] = ["priomark@main"]
    own.write_text(yaml.safe_dump(content))
    folder = make_environment(tmp_path, "srun", own)
    with slurm_made.slurm(tmp_path / "slurm", nodes=1) as slurm:
        environment = os.environ | {"COFFEECUP_ROOT": str(ROOT), "SLURM_MPI_TYPE": "pmix"} | slurm.environment
        spack(folder, environment, "install")
        assert "1 passed of 1 spec" in spack(folder, environment, "test", "run", "priomark")
        jobs = slurm("scontrol", "show", "job")
        assert "JobName=priomark" in jobs and "JobState=COMPLETED" in jobs


def test_old_spack_is_refused_by_name(reframe, tmp_path):
    path = f"{fake_spack(tmp_path, 'echo 0.23.1').parent}:{os.environ['PATH']}"
    session = reframe("-r", "-n", "b_eff%num_processes=2$", *values("builder=spack"), env={"PATH": path})
    assert session.returncode == 1
    assert "is Spack 0.23.1; 1.0.2 is the oldest supported version" in session.fixtures[0]["fail_reason"]

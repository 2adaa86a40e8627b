# SPDX-License-Identifier: Apache-2.0
"""What several test files share: kernels built once per MPI, and ReFrame run as a person runs it, with all output in a
scratch folder."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import builds
import logs_made
import pytest
from builds import PATIENCE, ROOT, Mpi, build_kernels, compiler_and_launcher, executable, held, install_kernels, words
from check_runs import prebuilt
from hypothesis import HealthCheck, settings
from kernel_runs import good

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs

pytest_plugins = ["b_eff_runs", "priomark_runs", "foreign_made"]  # fixtures of several files
LOCAL = ROOT / "site_configs" / "local" / "settings.py"
CHECKS = ROOT / "reframe_checks"
COFFEECUP = Path(sys.executable).with_name("coffeecup")
CORES = sorted(os.sched_getaffinity(0))[:2]
REFRAME = [str(Path(sys.executable).with_name("reframe"))]
QUIET = ROOT / "tests" / "support" / "quiet.py"

# How a log ends whose run could not go on: where a rank other than 0 alone met the cause, the launcher ends rank 0.
NOT_COMPLETE = ("failed", "interrupted")

# The end of a kernel made of shell, and which of its ranks do anything.
HASH = """state=$?; [ ! -f "$log" ] || echo "SHA-256 of the log $log: $(sha256sum <"$log" | cut -c-64)"; exit $state"""
WHO = {"first": '[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || exit 0', "all": ""}


def files(names):
    return [f"test_{name}.py" for name in names.split()]


# Files that take minutes, the longest first: with --dist loadfile the last files are short ones then.
LONGEST = files("""
site_on_slurm slurm docs newest_libraries checks simulated simulated_machines known_file_systems ends_of_long_runs
ftio_kernel_result b_eff_memory
ends_of_runs b_eff_kernel_measures job_scripts acceptance b_eff_kernel_damage b_eff_kernel_budget known_link
""")


# What `make check` leaves out: files whose tests take more than 0.2 s of processor time on average, because they
# render pages, follow the documentation, start commands or try thousands of series, and all files of these folders.
NOT_QUICK = files("""
acceptance altered_logs b_eff_incomplete_logs b_eff_report baseline bench ci cli comparison_causes comparison_ends
comparison_result comparison_search completeness contract_plan docs docstrings events evidence_package example
exit_codes extent fifth_benchmark figures ftio_report fuzz_commands history json_output known_changes ledger
log_limits nodes_history nodes_on_slurm overview page_layout plan predict_beside priomark_from_darshan priomark_report
reading reference_bounds refused_runs report report_session sequential site_morning site_report
""")
TESTS = ROOT / "tests"
OF_KERNELS = {"kernels", "checks", "sites"}


# Many tests, and the Makefile, build the same sources: each file is compiled once. Without ccache only slower.
if shutil.which("ccache"):
    os.environ |= {
        "CMAKE_C_COMPILER_LAUNCHER": "ccache",
        "CCACHE_DIR": str(ROOT / "build" / "ccache"),
        "CCACHE_COMPILERTYPE": "gcc",  # it does not know mpicc.openmpi
        "CCACHE_NOHASHDIR": "1",  # the directory of a build is in no object
    }
os.environ.pop("CCACHE_BASEDIR", None)  # of the Makefile: builds of this tree that are elsewhere find it by its path

# Programs of the tests run as those of a person who has not set these: they would hide that output is written late,
# and each program would compile its modules anew.
for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(name, None)
sys.dont_write_bytecode = False

# Many programs of the tests have a home directory of their own, in which each would list the machine's fonts anew.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build" / "matplotlib"))

# A busy machine is no failure of the test that it slows down.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# Fixtures that build or start programs.
OF_PROGRAMS = {"openmpi", "mpich", "serial", "sanitized", "serial_sanitized", "simulated_kernel", "reframe", "real"}


def pytest_addoption(parser):
    parser.addoption("--in-process", action="store_true", help="leave out tests that start kernels or ReFrame")
    parser.addoption("--quick", action="store_true", help="and those that render pages: `make check`")


def pytest_ignore_collect(collection_path, config):
    """With --quick: folders whose tests start programs by definition, and NOT_QUICK."""
    if config.getoption("--quick") and (
        collection_path.name in NOT_QUICK or (collection_path.parent == TESTS and collection_path.name in OF_KERNELS)
    ):
        return True
    return None


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config, items):
    leave_to_prove(items)
    quick = config.getoption("--quick")
    if config.getoption("--in-process") or quick:
        items[:] = [item for item in items if not OF_PROGRAMS & set(item.fixturenames)]
    if quick:
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def leave_to_prove(items):
    """Of each case of tests marked `in_turn`, all but one MPI."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("in_turn"):
            if not hasattr(item, "callspec"):
                raise pytest.UsageError(f"{item.nodeid}: a test marked in_turn takes the parameter `mpi`")
            others = {name: value for name, value in item.callspec.params.items() if name != "mpi"}
            cases[item.path, item.originalname, repr(others)].append(item)
    for number, of_case in enumerate(cases.values()):
        for place, item in enumerate(of_case):
            if place != number % len(of_case):
                item.add_marker("prove")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Tests of one process of pytest run beside those of the other, except where they are marked `alone` or `rate`,
    with their fixtures: the gate keeps whoever comes later behind a test that waits for the machine."""
    kind = fcntl.LOCK_EX if any(map(item.get_closest_marker, ("alone", "rate"))) else fcntl.LOCK_SH
    with ExitStack() as stack:
        with held(ROOT / "build" / "gate.lock"):
            stack.enter_context(held(ROOT / "build" / "machine.lock", kind))
        return (yield)


@pytest.fixture(scope="session")
def openmpi():
    return build_kernels("openmpi")


@pytest.fixture(scope="session")
def openmpi_romio(openmpi):
    """Open MPI with its other component for MPI-I/O."""
    return replace(openmpi, settings={"OMPI_MCA_io": "romio321"})


@pytest.fixture(scope="session")
def mpich():
    return build_kernels("mpich")


@pytest.fixture(scope="session")
def serial():
    """A build without MPI, made where there is none: its compilers, headers and libraries are hidden while it is
    built."""
    hide = (
        "for place in /usr/lib/*/openmpi /usr/lib/*/mpich /usr/include/*/mpi* /usr/include/*/openmpi; do "
        "[ ! -d $place ] || mount -t tmpfs tmpfs $place; done; "
        'for tool in $(compgen -c mpi); do [ ! -e /usr/bin/$tool ] || mount --bind /dev/null /usr/bin/$tool; done; "$@"'
    )
    around = ("unshare", "--mount", "bash", "-c", hide, "bash") if os.geteuid() == 0 else ()
    return Mpi("none", None, install_kernels("tests-serial", "-DCOFFEECUP_MPI=OFF", around=around) / "bin")


@pytest.fixture(scope="session")
def sanitized():
    """The build folder of kernels and unit tests, built with Open MPI, in which the compiler's sanitizers watch."""
    if not (tools := compiler_and_launcher("openmpi")):
        pytest.skip("no openmpi on this machine")
    return install_kernels(
        "tests-sanitized", f"-DMPI_C_COMPILER={tools[0]}", "-DCOFFEECUP_SANITIZE=ON", "-DCOFFEECUP_TESTS=ON"
    ).parent


@pytest.fixture(scope="session")
def openmpi_sanitized(openmpi, sanitized):
    """The kernels of this build; runs get SANITIZERS as their environment."""
    return replace(openmpi, bin=sanitized / "install" / "bin")


@pytest.fixture(scope="session")
def serial_sanitized():
    """Without MPI: priomark alone, a run of which takes milliseconds."""
    built = install_kernels("tests-serial-sanitized", "-DCOFFEECUP_MPI=OFF", "-DCOFFEECUP_SANITIZE=ON")
    return Mpi("none", None, built / "bin")


@pytest.fixture(scope="session")
def simulated_kernel():
    """b_eff for simulated machines."""
    if not shutil.which("smpicc"):
        pytest.skip("no SimGrid on this machine: smpicc is not on PATH (Debian: libsimgrid-dev)")
    return builds.simulated_kernel()


@pytest.fixture(scope="session")
def simulate(simulated_kernel, tmp_path_factory):
    """Runs b_eff, or another kernel, on a platform; the path of its log. The same request is run once."""
    known = {}

    def run(platform, processes, *options, placement="sequential", per_node=1, again=False, kernel="b_eff"):
        request = (kernel, str(platform), processes, *options, placement)
        if again or request not in known:
            log = tmp_path_factory.mktemp("simulated") / "b_eff.jsonl"
            machine = f"-np {processes} --platform {platform} --placement {placement} --per-node {per_node}".split()
            command = [ROOT / "site_configs" / "simulated" / "run", *machine, simulated_kernel.with_name(kernel)]
            good(builds.run([*command, "--log", log, *words(options)], timeout=900))
            known[request] = log
        return known[request]

    return run


def without_spack(path):
    return os.pathsep.join(part for part in path.split(os.pathsep) if not shutil.which("spack", path=part))


@dataclass(frozen=True)
class Session:
    """What one call of ReFrame left: exit code, terminal output, and the test cases of its session report."""

    returncode: int
    output: str
    report: dict

    @property
    def cases(self):
        """Test cases without fixtures."""
        return [case for run in self.report.get("runs", ()) for case in run["testcases"] if not case["fixture"]]

    @property
    def fixtures(self):
        return [case for run in self.report.get("runs", ()) for case in run["testcases"] if case["fixture"]]


class Reframe:
    """Runs ReFrame in a folder of the test's own."""

    def __init__(self, folder, checks=CHECKS):
        self.folder, self.checks = folder, checks

    def __call__(self, *options, config=LOCAL, checks=None, env=None, timeout=PATIENCE, command=REFRAME):
        report = self.folder / "session.json"
        report.unlink(missing_ok=True)
        command = [*command, "--nocolor", f"--prefix={self.folder}", f"--report-file={report}"]
        command += [f"--perflogdir={self.folder}/perflogs", "-c", str(checks or self.checks)]
        if config:
            command += ["-C", str(config), "-C", str(QUIET)]
        words, env = [*command, *map(str, options)], self.environment() | (env or {})
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "capture_output": False}
        done = builds.run(words, cwd=self.folder, env=env, timeout=timeout, **both)
        return Session(done.returncode, done.stdout, json.loads(report.read_text()) if report.exists() else {})

    def environment(self):
        """The person's own, without what steers ReFrame, Spack or Open MPI; the home directory is the test's folder."""
        steering = ("RFM_", "SPACK_", "OMPI_", "PRTE_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
        own = {"HOME": str(self.folder), "RFM_SQLITE_DB_FILE": str(self.folder / "results.db")}
        return clean | own | {"PATH": without_spack(clean["PATH"])}


@pytest.fixture
def reframe(tmp_path, request):
    """A test file whose sessions run the checks of one benchmark names it, so that none loads the others."""
    one = getattr(request.module, "CHECKS_OF", None)
    return Reframe(tmp_path, CHECKS / f"{one}.py" if one else CHECKS)


@pytest.fixture
def scored(tmp_path):
    """A function that scores records, or returns the message of the refusal."""

    def result(records):
        [score] = score_logs([logs_made.write(tmp_path / "log.jsonl", records)])
        return score if isinstance(score, Score) else str(score)

    return result


def path_without(folder, commands):
    """A PATH with all commands of the person's but these."""
    folder.mkdir()
    for part in os.environ["PATH"].split(os.pathsep):
        for command in Path(part).glob("*"):
            if command.name not in commands and not (folder / command.name).is_symlink():
                (folder / command.name).symlink_to(command)
    return str(folder)


@pytest.fixture
def no_scheduler(tmp_path):
    """The environment of a machine without a scheduler, for sessions without a configuration."""
    return {"PATH": path_without(tmp_path / "commands", ("sbatch", "qsub", "flux", "bsub", "spack"))}


def kernel_of(folder, script, ranks="first", name="b_eff"):
    """A kernel of a few lines of shell, for checks that take binaries as they are: options of ReFrame that choose it.
    It states the hash of its log at its end, unless the script exits before."""
    begin = f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO[ranks]}\n'
    begin += 'for word; do [ "$before" != --log ] || log=$word; before=$word; done\n'
    return prebuilt(executable(folder / "bin" / name, f"{begin}{script}\n{HASH}\n").parent)


@pytest.fixture
def kernel_that(tmp_path):
    """`kernel_of` in the test's own folder."""
    return partial(kernel_of, tmp_path)


@pytest.fixture
def kernel_with(tmp_path, kernel_that):
    """Options for a run of a kernel that notes its options in the file `calls` and leaves these records as its log."""

    def options(records, name="b_eff"):
        made = logs_made.write(tmp_path / "made.jsonl", records)
        return ["-r", *kernel_that(f'echo "$@" >>{tmp_path}/calls\ncp {made} "$log"', name=name)]

    return options


PARTS_OF_SITES = ("site_configs", "reframe_checks", "reference_values", "spack-repo", "kernels")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of what sites need, and `coffeecup site` run in it."""
    folder = tmp_path / "tree"
    monkeypatch.setenv("CCACHE_BASEDIR", str(folder))
    builds.copy_parts(PARTS_OF_SITES, folder)

    def run(*arguments, path=None, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RFM_", "SPACK_"))}
        clean["PATH"] = path or without_spack(clean["PATH"])
        words, two_cores = [COFFEECUP, "site", *arguments], lambda: os.sched_setaffinity(0, CORES)
        done = builds.run(words, cwd=folder, env=clean | environment, preexec_fn=two_cores)
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr, text=done.stdout + done.stderr)

    def stub(name, script):
        """A command that stands in for the system's; the PATH that finds it first."""
        return f"{executable(tmp_path / 'stubs' / name, script).parent}:{os.environ['PATH']}"

    return SimpleNamespace(folder=folder, run=run, stub=stub, scratch=tmp_path)

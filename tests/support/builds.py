# SPDX-License-Identifier: Apache-2.0
"""Kernels built for tests, once for each MPI, and how they are started."""

import fcntl
import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults")
WHEELS = ROOT / ".venv" / "mpi"  # MPI libraries from PyPI

# As root, and with more processes than cores: for MPI started without a site's configuration.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_pml": "ob1",  # looking for the others, which serve networks, takes longer than many a run
    # Other tests use the same cores: a process that waits gives its core away.
    "OMPI_MCA_mpi_yield_when_idle": "1",
}

# Kernels built with the compiler's sanitizers report leaks of their own, not those of the MPI library. Other libraries
# may be loaded before them.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=0:verify_asan_link_order=0",
    "LSAN_OPTIONS": f"suppressions={FAULTS / 'leaks.supp'}:print_suppressions=0",
}

# After a run that failed, Open MPI's launcher otherwise waits a second or two for processes that have ended long ago.
# Not for runs that are killed: rank 0 needs this time to close its log.
IMPATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}

# Seconds until a test takes a program for hung: nothing else ends one that is only slow on a busy machine.
PATIENCE = 300


def copy_parts(parts, folder):
    """Copies folders of this tree, without what Python and Spack write into them."""
    for part in parts:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "build-*"))


def run(command, **options):
    """A CompletedProcess with text output, whatever its exit code."""
    usual = {"capture_output": True, "text": True, "timeout": PATIENCE, "check": False}
    return subprocess.run(command, **usual | options)  # noqa: PLW1510


def executable(path, text):
    """Writes a program; a text without a first line that names its interpreter is a script of shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def good(done):
    """A process that ended with exit code 0."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def words(options):
    """Words of a command line: an option may be a text with its value and further ones, "--input 4 --keep"."""
    return [word for option in map(str, options) for word in (option.split() if option.startswith("--") else [option])]


@dataclass(frozen=True)
class Mpi:
    """An MPI implementation and our kernels built with it; `mpirun` is None for kernels built without MPI."""

    name: str
    mpirun: str | None
    bin: Path
    settings: dict = field(default_factory=dict)  # of its environment
    patience: Path | None = None  # to load before a kernel, so that it gives its core away while it waits

    def command(self, ranks, kernel, *options, env=None):
        """Starts a kernel; `env` reaches the kernel and not the launcher."""
        launcher = [self.mpirun, "-np", str(ranks)] if self.mpirun else []
        env = dict(env or {})
        if self.patience:
            env["LD_PRELOAD"] = ":".join(map(str, filter(None, (env.get("LD_PRELOAD"), self.patience))))
        settings = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        return [*launcher, *settings, str(self.bin / kernel), *words(options)]

    @property
    def environment(self):
        return os.environ | OPEN_MPI | self.settings

    @property
    def impatient(self):
        return replace(self, settings=self.settings | IMPATIENT)

    def run(self, ranks, kernel, *options, env=None, **popen):
        """Run a kernel; a CompletedProcess with text output."""
        return run(self.command(ranks, kernel, *options, env=env), env=self.environment, **popen)


def compiler_and_launcher(name):
    """Debian names them mpicc.openmpi and mpirun.openmpi; elsewhere the ones on PATH serve where they are of this
    implementation."""
    found = [shutil.which(f"{command}.{name}") for command in ("mpicc", "mpirun")]
    if all(found):
        return found
    mpirun = shutil.which("mpirun")
    if not mpirun or not shutil.which("mpicc"):
        return None
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    spoken = {"openmpi": ("Open MPI", "OpenRTE", "prterun"), "mpich": ("HYDRA", "MPICH")}[name]
    return [shutil.which("mpicc"), mpirun] if any(word in version for word in spoken) else None


def build_kernels(name):
    tools = compiler_and_launcher(name)
    if not tools:
        pytest.skip(f"no {name} on this machine")
    return kernels_of(name, *tools)


def kernels_of(name, compiler, mpirun, *options, folder="tests"):
    installed = install_kernels(f"{folder}-{name}", f"-DMPI_C_COMPILER={compiler}", *options)
    return Mpi(name, str(mpirun), installed / "bin", patience=shared_library(installed, "patience"))


def newest_kernels(name):
    """With the MPI library of the constraints file."""
    tools = WHEELS / name / "bin"
    if not (tools / "mpicc").exists():
        pytest.skip(f"{tools} has no mpicc: site_configs/local/setup test installs it")
    return kernels_of(name, tools / "mpicc", tools / "mpirun", folder="tests-newest")


def shared_library(folder, source, compiler="cc"):
    """A library of faults/ to load before a kernel."""
    library, text = folder / f"{source}.so", FAULTS / f"{source}.c"
    with held(folder / f"{source}.lock"):
        if not library.exists() or library.stat().st_mtime < text.stat().st_mtime:
            compiled(library, text, "-ldl", flags=["-shared", "-fPIC"], compiler=compiler)
    return library


def compiled(target, *sources, flags=(), compiler="cc"):
    """A program, without any warning."""
    strict = ["-O2", "-Wall", "-Wextra", "-Werror"]
    good(run([compiler, *strict, *flags, "-o", target, *sources]))
    return target


def faulty(mpi, source, **settings):
    """The environment of a kernel before which a library of faults/ is loaded, with these variables of it."""
    compiler = compiler_and_launcher(mpi.name)[0] if mpi.mpirun else "cc"
    return {"LD_PRELOAD": shared_library(mpi.bin.parent, source, compiler), **settings}


def simulated_kernel() -> Path:
    """b_eff for simulated machines, beside b_eff_load; requires SimGrid's smpicc."""
    options = ["-DCMAKE_C_COMPILER=smpicc", "-DCOFFEECUP_SIMULATED=ON", "-DCOFFEECUP_BENCHMARKS=b_eff;b_eff_load"]
    return install_kernels("tests-simulated", *options) / "bin" / "b_eff"


@contextmanager
def held(path, kind=fcntl.LOCK_EX):
    """A lock among pytest's processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, kind)
        yield


def install_kernels(name, *options, around=()):
    """The folder where kernels that were built with these options of CMake are installed; `around` comes before each
    command. Of the processes of one run of pytest, only the first builds them."""
    if os.environ.get("COFFEECUP_COVERAGE"):  # make coverage
        name, options = f"{name}-coverage", (*options, "-DCOFFEECUP_COVERAGE=ON")
    folder = ROOT / "build" / name
    usual = [f"-DCMAKE_INSTALL_PREFIX={folder}/install", "-DCOFFEECUP_BENCHMARKS=all", "-DCOFFEECUP_TESTS=OFF"]
    configure = ["cmake", "-S", ROOT / "kernels", "-B", folder, *usual, *options]
    env = os.environ | {"CCACHE_BASEDIR": str(ROOT)}  # shared with builds of copies of the tree
    built, test_run = folder / "test_run", os.environ.get("PYTEST_XDIST_TESTRUNUID")
    with held(folder.with_suffix(".lock")):
        if test_run and built.exists() and built.read_text() == test_run:
            return folder / "install"
        for command in (configure, ["cmake", "--build", folder, "--parallel", "2"], ["cmake", "--install", folder]):
            good(run([*around, *command], timeout=None, env=env))
        built.write_text(test_run or "")
    return folder / "install"

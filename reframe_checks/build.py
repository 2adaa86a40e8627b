# SPDX-License-Identifier: Apache-2.0
"""The build fixture: builds a kernel, or locates an installed one; `builder` selects how.

`-S builder=auto|spack|cmake|prebuilt`; `auto` uses Spack if it is available and its environment pins the MPI library of
the partition, otherwise CMake, and says why; an installation without sources uses installed kernels. The others have no
fallback: `spack` without Spack is an error. Nothing is copied: the sources are used where they are, the build is out of
tree.

CMake compiles a kernel once for all partitions of a session that have the same environment and architecture;
`-S build_per=partition` compiles it for each of them. Spack's store shares what is the same.
"""

import atexit
import functools
import hashlib
import itertools
import re
import shlex
import shutil
import tempfile
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_after, run_before, variable
from reframe.core.exceptions import BuildError, BuildSystemError, SanityError
from reframe.core.runtime import runtime

from coffeecup.postprocess import reframe_version  # noqa: F401

from . import spack
from .environments import compiler_of
from .logged import LoggedOnce
from .partitions import extras_of, say
from .paths import KERNELS, ROOT, SPACK_ENVIRONMENT, as_seen_from_the_job, spack_output
from .vocabulary import Extra

FAILED = "build_failed"  # in the stage directory: the exit code of the command that failed


class Builder:
    """How to get a kernel."""

    AUTO = "auto"
    SPACK = "spack"
    CMAKE = "cmake"
    PREBUILT = "prebuilt"
    ALL = (AUTO, SPACK, CMAKE, PREBUILT)


class BuildPer:
    """What has a compilation of its own."""

    ENVIRONMENT = "environment"
    PARTITION = "partition"
    ALL = (ENVIRONMENT, PARTITION)


@functools.cache
def _folder_of_session(parent, prefix):
    """A new folder below `parent`, which is removed when ReFrame ends."""
    folder = tempfile.mkdtemp(dir=parent, prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class kernel_build(rfm.CompileOnlyRegressionTest, LoggedOnce):
    """Installs the kernel that `benchmark` names, once for each partition and environment.

    A derived class sets `benchmark`, and `package` if the kernel comes with that of another one. After its run
    `executable_path` is what to start, `mpi_bin` the directory of the MPI launcher that belongs to it (empty: the one
    on PATH), `builder_used` the builder, `spack_spec` what Spack built.
    """

    benchmark = variable(str)
    package = ""  # of Spack
    builder = variable(str, value=Builder.AUTO)
    build_per = variable(str, value=BuildPer.ENVIRONMENT)
    prebuilt_directory = variable(str, value="")
    # Of checks: `-S num_nodes=N` reaches builds, too, and ReFrame warns of a test that lacks the variable.
    num_nodes = variable(type(None), int, value=None)
    history = variable(str, value="")
    acknowledged = variable(str, value="")
    thresholds = variable(str, value="")
    builder_used = variable(str, value="")
    executable_path = variable(str, value="")
    mpi_bin = variable(str, value="")
    spack_spec = variable(str, value="")
    spack_hash = variable(str, value="")
    build_system = "CustomBuild"
    sourcesdir = None

    @run_before("compile")
    def choose_builder(self):
        if self.builder not in Builder.ALL:
            raise BuildSystemError(f"unknown builder {self.builder!r}: valid are {', '.join(Builder.ALL)}")
        if self.build_per not in BuildPer.ALL:
            raise BuildSystemError(f"unknown build_per {self.build_per!r}: valid are {', '.join(BuildPer.ALL)}")
        if self.builder == Builder.AUTO and not KERNELS.is_dir():
            self.builder_used = Builder.PREBUILT
            say("installed kernels are used: this installation of coffeecup has no sources to build them from")
        elif self.builder in (Builder.AUTO, Builder.SPACK):
            self._choose_spack_or_cmake()
        else:
            self.builder_used = self.builder
        commands = getattr(self, f"_{self.builder_used}_commands")()
        # The script always succeeds: of one that fails, ReFrame shows nothing but its exit code.
        self.build_system.commands = [
            f"rm -f {FAILED}",
            " && \\\n".join(f"{{ {command}; }}" for command in commands) + f" || echo $? >{FAILED}",
        ]

    def _choose_spack_or_cmake(self):
        try:
            self._spack = spack.find_spack()
            self.builder_used = Builder.SPACK
            if self.builder == Builder.AUTO:
                self._check_mpi_of_spack()
                say(f"kernels are built with Spack: {self._spack} has to use the MPI library of the partition")
        except spack.SpackUnusableError as reason:
            if self.builder == Builder.SPACK:
                raise BuildSystemError(
                    f"builder=spack was requested, but {reason}; install Spack or choose -S builder=cmake"
                ) from None
            self.builder_used = Builder.CMAKE
            say(f"kernels are built with CMake: {reason}")

    def _spack_environment(self):
        """(file, directory that Spack works in) of this partition."""
        file = extras_of(self.current_partition).get(Extra.SPACK_ENVIRONMENT, SPACK_ENVIRONMENT)
        name = f"{self.current_partition.fullname}-{self.current_environ.name}".replace(":", "-")
        return file, spack.make_environment(spack_output(), name, file)

    def _check_mpi_of_spack(self):
        file, directory = self._spack_environment()
        compiler = compiler_of(self.current_partition, self.current_environ)
        if problem := spack.mpi_problem(spack.packages_of(self._spack, directory), compiler):
            raise spack.SpackUnusableError(
                f"the Spack environment {file} {problem}; to use Spack, add the library of the partition as the only "
                "external of MPI and `packages: mpi: buildable: false`, or choose -S builder=spack"
            )

    def _cmake_commands(self):
        if not KERNELS.is_dir():
            raise BuildSystemError(
                f"this installation of coffeecup has no sources of kernels ({KERNELS}): install the kernels from a "
                "checkout and choose -S builder=prebuilt"
            )
        environ = self.current_environ
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_C_COMPILER": environ.cc,
            "CMAKE_C_FLAGS": shlex.quote(" ".join(environ.cflags)) if environ.cflags else "",
            "COFFEECUP_BENCHMARKS": self.benchmark,
            "COFFEECUP_TESTS": "OFF",
        }
        chosen = " ".join(
            [
                *(f"-D{name}={value}" for name, value in options.items() if value),
                *map(shlex.quote, extras_of(self.current_partition).get(Extra.CMAKE_OPTIONS, ())),
            ]
        )
        self.executable_path = f"{self.stagedir}/install/bin/{self.benchmark}"
        folder, lock = self._compilation(chosen)
        commands = [
            f"cmake -S {shlex.quote(str(KERNELS))} -B {folder} {chosen}",
            f"cmake --build {folder} --parallel $(nproc)",
            f"cmake --install {folder} --prefix $PWD/install",
        ]
        return [f"flock --close {lock} bash -c {shlex.quote(' && '.join(commands))}"] if lock else commands

    def _compilation(self, options):
        """(folder, lock) of the compilation; no lock if no other build of this session compiles the same. Where jobs
        compile, their nodes may differ. The lock is on the machine on which they all compile: not every parallel file
        system has locks."""
        partition, environ = self.current_partition, self.current_environ
        if self.build_per == BuildPer.PARTITION or not (self.build_locally or partition.scheduler.is_local):
            return "build", None
        same = [self.benchmark, options, partition.processor.arch, self.modules, dict(self.env_vars)]
        for each in (partition.local_env, environ):
            same += [each.modules_detailed, dict(each.env_vars), [*getattr(each, "prepare_cmds", ())]]
        name = hashlib.sha256(repr([*same, *partition.prepare_cmds]).encode()).hexdigest()[:16]
        shared = _folder_of_session(runtime().stage_prefix, "builds-")
        return shared / name, shlex.quote(str(_folder_of_session(None, "coffeecup-") / name))

    def _prebuilt_commands(self):
        folder = as_seen_from_the_job(self.prebuilt_directory)
        self.executable_path = f"{folder}/{self.benchmark}" if folder else self.benchmark
        where = f"in {folder}" if folder else "on PATH"
        complaint = f"there is no working {self.benchmark} {where}: install it, or choose -S prebuilt_directory=DIR"
        # Without `command -v` the first error, which is shown, would be that of the shell.
        program = shlex.quote(self.executable_path)
        tried = f"{{ command -v {program} >/dev/null && {program} --version; }}"
        return [f"{tried} || {{ echo {shlex.quote(complaint)} >&2; false; }}"]

    def _spack_commands(self):
        _, directory = self._spack_environment()
        self.env_vars[spack.ROOT_VARIABLE] = str(ROOT)
        self.keep_files = [spack.FOUND, "spack.lock"]
        package = self.package or self.benchmark.replace("_", "-")
        mpi = extras_of(self.current_partition).get(Extra.SPACK_MPI, "mpi")
        return spack.install_commands(self._spack, directory, package, mpi)

    @run_after("compile")
    def show_the_first_error(self):
        """Also of a build that CMake could not configure: what is missing is in the indented lines after the first one,
        up to the end of the sentence."""
        failed = Path(self.stagedir, FAILED)
        if self.is_dry_run() or not failed.exists():
            return
        outputs = [Path(self.stagedir, name) for name in (self.build_job.stderr, self.build_job.stdout)]
        lines = [line.rstrip() for path in outputs for line in path.read_text(errors="replace").splitlines()]
        lines = [line for line in lines if line] or ["no output"]
        first = next((place for place, line in enumerate(lines) if re.search(r"\berror\b", line, re.IGNORECASE)), 0)
        complaint = lines[first]
        if complaint.endswith(":"):
            for line in itertools.takewhile(lambda line: line[0].isspace(), lines[first + 1 :]):
                complaint += f" {line.strip()}"
                if line.endswith("."):
                    break
        raise BuildError(f"exit code {failed.read_text().strip()}: {complaint}")

    @run_after("compile")
    def locate_what_spack_installed(self):
        if self.builder_used != Builder.SPACK or self.is_dry_run():
            return
        try:
            prefix, self.spack_spec, self.spack_hash, mpi_prefix = spack.read_found(f"{self.stagedir}/{spack.FOUND}")
        except spack.SpackUnusableError as reason:
            raise SanityError(str(reason)) from None
        self.executable_path = f"{prefix}/bin/{self.benchmark}"
        self.mpi_bin = f"{mpi_prefix}/bin"


class BuiltKernel(rfm.RegressionTestPlugin):
    """Takes the executable from the fixture `kernel` and records how it was built; the derived class names the
    fixture."""

    builder = variable(str, value=Builder.AUTO, loggable=True)
    build_per = variable(str, value=BuildPer.ENVIRONMENT)  # of builds: without it, ReFrame would warn
    prebuilt_directory = variable(str, value="", loggable=True)
    spack_spec = variable(str, value="", loggable=True)
    mpi_bin = variable(str, value="", loggable=True)

    @run_after("setup")
    def take_kernel(self):
        self.executable = shlex.quote(self.kernel.executable_path)
        self.builder = self.kernel.builder_used
        self.spack_spec = self.kernel.spack_spec
        self.mpi_bin = self.kernel.mpi_bin
        if self.mpi_bin not in ("", "/usr/bin"):
            self.env_vars["PATH"] = f"{self.mpi_bin}:$PATH"

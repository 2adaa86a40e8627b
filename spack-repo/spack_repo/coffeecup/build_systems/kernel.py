# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class KernelPackage(CMakePackage):
    """What the packages of all kernels of coffeecup share. A kernel's own package states its
    variants, its libraries, and `benchmark`, the name of its program, or several programs in
    `benchmarks`.

    Version `main` is the branch of that name. To build the files of a checkout, use
    `spack develop --path CHECKOUT/kernels PACKAGE@=main`.
    """

    benchmark = benchmarks = ""

    git = Path(__file__).resolve().parents[4].as_uri()  # the checkout that contains this recipe

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("jansson")
    depends_on("openssl@1.1:")

    @property
    def root_cmakelists_dir(self):
        return "." if "dev_path" in self.spec.variants else "kernels"

    def cmake_args(self):
        args = [
            self.define("COFFEECUP_BENCHMARKS", self.benchmarks or self.benchmark),
            self.define("COFFEECUP_SPACK_HASH", self.spec.dag_hash()),
            self.define("COFFEECUP_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("^mpi"):
            args.append(self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc))
        return args

    def run_to_the_end(self, *options):
        """Run the installed kernel, on two processes if it has MPI, and check that its log is complete."""
        log = Path(f"{self.benchmark}.jsonl").resolve()
        program = join_path(self.prefix.bin, self.benchmark)
        command = [*self.launcher(), program, "--log", str(log), *options]
        # Spack removes variables that end in _ROOT, among them Open MPI's permission to run as root.
        leave = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        Executable(command[0])(*command[1:], extra_env=leave)
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        end = records[-1]
        assert end["record"] == "end", f"the log is cut off after {end}"
        assert (end["status"], end["records"]) == ("complete", len(records)), end

    def launcher(self):
        """The command that starts two processes: that of the MPI library, or, where it has none because the
        scheduler starts its processes, the scheduler's."""
        if not self.spec.satisfies("^mpi"):
            return []
        own = which("mpirun", "mpiexec", path=self.spec["mpi"].prefix.bin)
        found = own or which("srun", "mpiexec", "aprun")
        if found is None:
            raise SkipTest("no mpirun, mpiexec, srun or aprun starts processes here")
        return [*found.exe, "-n", "2"]

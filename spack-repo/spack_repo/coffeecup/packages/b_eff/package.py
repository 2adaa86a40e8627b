# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class BEff(CMakePackage):
    """Effective communication bandwidth (b_eff) of coffeecup: all processes of an MPI job
    communicate at the same time, in ring and random patterns, over 21 message lengths and by
    several methods. The kernel writes raw measurements to a log (JSON Lines) from which coffeecup
    computes the averages.

    Version `main` is the branch of that name. To build the files of a checkout, use
    `spack develop --path CHECKOUT/kernels b-eff@=main`.
    """

    git = Path(__file__).resolve().parents[5].as_uri()  # the checkout that contains this recipe

    license("Apache-2.0")

    version("main", branch="main")

    variant("simgrid", default=False, description="Build for simulated machines, with SimGrid's SMPI as MPI")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:", when="~simgrid")
    depends_on("simgrid@3.32:+smpi", when="+simgrid")
    depends_on("jansson")

    @property
    def root_cmakelists_dir(self):
        return "." if "dev_path" in self.spec.variants else "kernels"

    def cmake_args(self):
        simulated = self.spec.satisfies("+simgrid")
        compiler = self.spec["simgrid"].smpicc if simulated else self.spec["mpi"].mpicc
        return [
            self.define("CMAKE_C_COMPILER" if simulated else "MPI_C_COMPILER", compiler),
            self.define("COFFEECUP_SIMULATED", simulated),
            self.define("COFFEECUP_BENCHMARKS", "b_eff"),
            self.define("COFFEECUP_SPACK_HASH", self.spec.dag_hash()),
            self.define("COFFEECUP_TESTS", self.run_tests),
        ]

    def test_two_processes(self):
        """a short run on two processes ends with a complete log"""
        if self.spec.satisfies("+simgrid"):
            raise SkipTest("a simulated run needs a platform; coffeecup has some in site_configs/simulated")
        log = Path("b_eff.jsonl").resolve()
        options = ["--log", str(log), "--memory-per-process", "4MiB", "--time-budget", "5"]
        mpirun = which("mpirun", path=self.spec["mpi"].prefix.bin, required=True)
        # Spack removes variables that end in _ROOT, among them Open MPI's permission to run as root.
        leave = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        mpirun("-np", "2", join_path(self.prefix.bin, "b_eff"), *options, extra_env=leave)
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        end = records[-1]
        assert end["record"] == "end", f"the log is cut off after {end}"
        assert (end["status"], end["records"]) == ("complete", len(records)), end

# SPDX-License-Identifier: Apache-2.0

from spack_repo.coffeecup.build_systems.kernel import KernelPackage

from spack.package import *


class BEff(KernelPackage):
    """Effective communication bandwidth (b_eff) of coffeecup: all processes of an MPI job
    communicate at the same time, in ring and random patterns, over 21 message lengths and by
    several methods. The kernel writes raw measurements to a log (JSON Lines) from which coffeecup
    computes the averages. b_eff_load, which comes with it, measures what the traffic of other
    nodes costs.
    """

    benchmark = "b_eff"
    benchmarks = "b_eff;b_eff_load"

    variant("simgrid", default=False, description="Build for simulated machines, with SimGrid's SMPI as MPI")

    # Runtime libraries are loaded when a run requests memory of accelerators (--memory): the program has only the path
    # to their folders.
    variant("cuda", default=False, description="Have the runtime library of CUDA", when="~simgrid")
    variant("rocm", default=False, description="Have the runtime library of HIP", when="~simgrid")
    variant("level-zero", default=False, description="Have the loader of Level Zero", when="~simgrid")

    depends_on("mpi@3:", when="~simgrid")
    depends_on("cuda@11:", type=("link", "run"), when="+cuda")
    depends_on("hip@5:", type=("link", "run"), when="+rocm")
    depends_on("oneapi-level-zero", type=("link", "run"), when="+level-zero")
    depends_on("simgrid@3.32:+smpi", when="+simgrid")

    def cmake_args(self):
        args = [*super().cmake_args(), self.define_from_variant("COFFEECUP_SIMULATED", "simgrid")]
        if self.spec.satisfies("+simgrid"):
            args.append(self.define("CMAKE_C_COMPILER", self.spec["simgrid"].smpicc))
        return args

    def test_two_processes(self):
        """a short run on two processes ends with a complete log"""
        if self.spec.satisfies("+simgrid"):
            raise SkipTest("a simulated run needs a platform; coffeecup has some in site_configs/simulated")
        self.run_to_the_end("--memory-per-process", "4MiB", "--time-budget", "5")

# SPDX-License-Identifier: Apache-2.0

from spack_repo.coffeecup.build_systems.kernel import KernelPackage

from spack.package import *


class BEffIo(KernelPackage):
    """Effective bandwidth of parallel I/O (b_eff_io) of coffeecup: initial write, rewrite and read
    of files by MPI-I/O, in five types of access patterns and with chunks from 1 KiB to 1/128 of a
    node's memory, for a scheduled time. The kernel writes raw measurements to a log
    (JSON Lines) from which coffeecup computes the averages. b_eff_io_load, which comes with it,
    measures what the I/O of other nodes costs.
    """

    benchmark = "b_eff_io"
    benchmarks = "b_eff_io;b_eff_io_load"

    depends_on("mpi@3:")
    depends_on("libconfig")

    def test_two_processes(self):
        """a short run on two processes ends with a complete log"""
        self.run_to_the_end("--memory-per-process", "64MiB", "--scheduled-time", "1")

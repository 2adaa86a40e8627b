# SPDX-License-Identifier: Apache-2.0

from spack_repo.coffeecup.build_systems.kernel import KernelPackage

from spack.package import *


class Ftio(KernelPackage):
    """FTIO of coffeecup: how much of a computation is I/O. A two-dimensional discrete Fourier
    transform of a matrix that stays on disk is computed by all processes of an MPI job, and every
    part of the work is timed. The kernel writes raw measurements to a log (JSON Lines) from which
    coffeecup computes the I/O Fraction.
    """

    benchmark = "ftio"

    depends_on("mpi@3:")
    depends_on("fftw@3.3: +mpi precision=double")

    def test_two_processes(self):
        """a small transform on two processes ends with a complete log"""
        self.run_to_the_end("--input", "8")

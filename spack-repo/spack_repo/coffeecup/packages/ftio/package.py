# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Ftio(CMakePackage):
    """FTIO of coffeecup: how much of a computation is I/O. A two-dimensional discrete Fourier
    transform of a matrix that stays on disk is computed by all processes of an MPI job, and every
    part of the work is timed. The kernel writes raw measurements to a log (JSON Lines) from which
    coffeecup computes the I/O Fraction.

    Version `main` is the branch of that name. To build the files of a checkout, use
    `spack develop --path CHECKOUT/kernels ftio@=main`.
    """

    git = Path(__file__).resolve().parents[5].as_uri()  # the checkout that contains this recipe

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("jansson")
    depends_on("fftw@3.3: +mpi precision=double")

    @property
    def root_cmakelists_dir(self):
        return "." if "dev_path" in self.spec.variants else "kernels"

    def cmake_args(self):
        return [
            self.define("COFFEECUP_BENCHMARKS", "ftio"),
            self.define("COFFEECUP_SPACK_HASH", self.spec.dag_hash()),
            self.define("COFFEECUP_TESTS", self.run_tests),
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
        ]

    def test_two_processes(self):
        """a small transform on two processes ends with a complete log"""
        log = Path("ftio.jsonl").resolve()
        options = ["--log", str(log), "--input", "8"]
        mpirun = which("mpirun", path=self.spec["mpi"].prefix.bin, required=True)
        # Spack removes variables that end in _ROOT, among them Open MPI's permission to run as root.
        leave = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        mpirun("-np", "2", join_path(self.prefix.bin, "ftio"), *options, extra_env=leave)
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        end = records[-1]
        assert end["record"] == "end", f"the log is cut off after {end}"
        assert (end["status"], end["records"]) == ("complete", len(records)), end

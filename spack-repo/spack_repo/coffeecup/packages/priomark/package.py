# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Priomark(CMakePackage):
    """PRIOMark of coffeecup: the I/O performance of a workload. The workload is a file that states
    what is accessed, how, and in which sizes. Sub-benchmarks use POSIX calls, MPI-IO, or a device
    without the page cache; more of them can be loaded as plug-ins. The kernel writes raw
    measurements to a log (JSON Lines) from which coffeecup computes the averages.

    Version `main` is the branch of that name. To build the files of a checkout, use
    `spack develop --path CHECKOUT/kernels priomark@=main`.
    """

    git = Path(__file__).resolve().parents[5].as_uri()  # the checkout that contains this recipe

    license("Apache-2.0")

    version("main", branch="main")

    variant("mpi", default=True, description="Measure with many processes; without it, one process and no common files")
    variant("mpiio", default=True, when="+mpi", description="Access methods of MPI-IO; without it, POSIX calls only")
    variant("devices", default=True, description="Measure raw devices; requires libblkid to search them for signatures")
    variant("uring", default=False, description="Asynchronous access by Linux's io_uring")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:", when="+mpi")
    depends_on("jansson")
    depends_on("libconfig")
    depends_on("util-linux", when="+devices")
    depends_on("liburing@2:", when="+uring")

    @property
    def root_cmakelists_dir(self):
        return "." if "dev_path" in self.spec.variants else "kernels"

    def cmake_args(self):
        args = [
            self.define("COFFEECUP_BENCHMARKS", "priomark"),
            self.define("COFFEECUP_SPACK_HASH", self.spec.dag_hash()),
            self.define("COFFEECUP_TESTS", self.run_tests),
            self.define_from_variant("COFFEECUP_MPI", "mpi"),
            self.define("COFFEECUP_MPI_IO", self.spec.satisfies("+mpiio")),
            self.define_from_variant("COFFEECUP_DEVICES", "devices"),
            self.define_from_variant("COFFEECUP_URING", "uring"),
        ]
        if self.spec.satisfies("+mpi"):
            args.append(self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc))
        return args

    def test_small_workload(self):
        """a small workload, on two processes where there is MPI, ends with a complete log"""
        log, workload = Path("priomark.jsonl").resolve(), Path("small.cfg").resolve()
        workload.write_text('single_file = { process_size = "1MiB"; };\n', encoding="utf-8")
        program = join_path(self.prefix.bin, "priomark")
        options = ["--log", str(log), "--workload", str(workload)]
        if self.spec.satisfies("+mpi"):
            mpirun = which("mpirun", path=self.spec["mpi"].prefix.bin, required=True)
            # Spack removes variables that end in _ROOT, among them Open MPI's permission to run as root.
            leave = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            mpirun("-np", "2", program, *options, extra_env=leave)
        else:
            Executable(program)(*options)
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        end = records[-1]
        assert end["record"] == "end", f"the log is cut off after {end}"
        assert (end["status"], end["records"]) == ("complete", len(records)), end

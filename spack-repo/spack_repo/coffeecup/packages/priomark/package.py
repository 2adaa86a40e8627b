# SPDX-License-Identifier: Apache-2.0

from pathlib import Path

from spack_repo.coffeecup.build_systems.kernel import KernelPackage

from spack.package import *


class Priomark(KernelPackage):
    """PRIOMark of coffeecup: the I/O performance of a workload. The workload is a file that states
    what is accessed, how, and in which sizes. Sub-benchmarks use POSIX calls, MPI-IO, or a device
    without the page cache; access methods can be loaded. The kernel writes raw
    measurements to a log (JSON Lines) from which coffeecup computes the averages.
    """

    benchmark = "priomark"

    variant("mpi", default=True, description="Measure with many processes; without it, one process and no common files")
    variant("mpiio", default=True, when="+mpi", description="Access methods of MPI-IO; without it, POSIX calls only")
    variant("devices", default=True, description="Measure raw devices; requires libblkid to search them for signatures")
    variant("uring", default=False, description="Asynchronous access by Linux's io_uring")

    variant("hdf5", default=False, when="+mpiio", description="Parallel HDF5 as an interface")
    variant("pnetcdf", default=False, when="+mpiio", description="PnetCDF as an interface")
    variant("netcdf", default=False, when="+mpiio", description="Parallel netCDF-4 as an interface")
    variant("s3", default=False, when="+mpiio", description="Objects of an S3 server as an interface")
    variant("cufile", default=False, when="+mpiio", description="GPUDirect Storage by NVIDIA's cuFile as an interface")

    depends_on("mpi@3:", when="+mpi")
    depends_on("libconfig")
    depends_on("util-linux", when="+devices")
    depends_on("liburing@2:", when="+uring")
    depends_on("hdf5@1.10:+mpi", when="+hdf5")
    depends_on("parallel-netcdf", when="+pnetcdf")
    depends_on("netcdf-c@4.9:+mpi", when="+netcdf")
    depends_on("curl@7.87:", when="+s3")
    depends_on("cuda@11.4:", type=("link", "run"), when="+cufile")  # loaded, through the path to its folder

    def cmake_args(self):
        libraries = ("hdf5", "pnetcdf", "netcdf", "s3", "cufile")
        return [
            *super().cmake_args(),
            self.define_from_variant("COFFEECUP_MPI", "mpi"),
            self.define("COFFEECUP_MPI_IO", self.spec.satisfies("+mpiio")),
            self.define_from_variant("COFFEECUP_DEVICES", "devices"),
            self.define_from_variant("COFFEECUP_URING", "uring"),
            self.define("COFFEECUP_INTERFACES", [name for name in libraries if self.spec.satisfies(f"+{name}")]),
        ]

    def test_small_workload(self):
        """a small workload, on two processes where there is MPI, ends with a complete log"""
        workload = Path("small.cfg").resolve()
        workload.write_text('single_file = { process_size = "1MiB"; };\n', encoding="utf-8")
        self.run_to_the_end("--workload", str(workload))

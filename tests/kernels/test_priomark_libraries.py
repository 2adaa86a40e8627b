# SPDX-License-Identifier: Apache-2.0
"""The interfaces to HDF5, PnetCDF and netCDF-4 that belong to PRIOMark, with Debian's libraries.
test_ends_of_long_runs.py has how such runs end."""

from collections import Counter

import builds
import pytest
from builds import SANITIZERS, compiled, good
from kernel_runs import error
from priomark_runs import KIB, MIB, leftovers, run
from raw_log import read_log

LIBRARIES = ("hdf5", "pnetcdf", "netcdf")
EACH = [name + suffix for name in LIBRARIES for suffix in ("", "-collective")]
LISTED = ", ".join(f'"{name}"' for name in EACH)
ALL = f"""
check = true;
common_file = {{ process_size = "32KiB"; block_size = "16KiB"; methods = [{LISTED}]; }};
strided = {{ process_size = "24KiB"; block_size = "4KiB"; blocks_per_stride = 3; methods = [{LISTED}]; }};
async = {{ process_size = "64KiB"; methods = "pnetcdf"; }};
single_file = {{ process_size = "16KiB"; block_size = "4KiB"; methods = [{LISTED}]; }};
"""
PATTERNS = {"common_file": 3, "strided": 2, "single_file": 4}
ONE = """hints = "{hints}"; common_file = {{ process_size = "256KiB"; block_size = "64KiB"; patterns = "write";
    methods = "{method}"; }};"""


def stored(folder):
    """The one file of a run with --keep."""
    [file] = (path for path in (folder / "disk").rglob("*") if path.is_file() and path.stat().st_size >= 512 * KIB)
    return file


def test_libraries_serve_their_sub_benchmarks_with_every_byte_checked_and_sanitizers(openmpi_sanitized, tmp_path):
    good(run(openmpi_sanitized, tmp_path, ALL, 2, env=SANITIZERS))
    log = read_log(tmp_path / "log.jsonl")
    cases = Counter((m["benchmark"], m["method"]) for m in log.records["measurement"])
    assert cases == {(benchmark, name): count for benchmark, count in PATTERNS.items() for name in EACH} | {
        ("async", "pnetcdf"): 2
    }
    for entry in log.plan["interfaces"]:
        name = entry["name"].split("-")[0]
        assert entry["properties"].lower().startswith(name) and entry["collective"] == ("-" in entry["name"])
    assert leftovers(tmp_path) == []


def test_kernels_of_another_mpi_have_the_libraries_that_were_built_for_it(mpich, tmp_path):
    workload = """check = true; common_file = { process_size = "64KiB"; block_size = "16KiB";
        methods = ["hdf5", "hdf5-collective"]; };"""
    good(run(mpich, tmp_path, workload, 2))
    done = run(mpich, tmp_path, '\nsingle_file = { methods = "pnetcdf"; };')  # Debian's is for Open MPI
    assert done.returncode == 2 and "workload.cfg:2: methods: 'pnetcdf' is not known" in error(done)
    assert "in this build are posix, posix-direct, cufile, hdf5-collective, hdf5, s3, or interfaces in" in error(done)


@pytest.mark.parametrize(
    "method, beginning", [("hdf5", b"\x89HDF\r\n\x1a\n"), ("netcdf", b"\x89HDF\r\n\x1a\n"), ("pnetcdf", b"CDF\x05")]
)
def test_files_have_the_format_of_the_library(openmpi, tmp_path, method, beginning):
    """In CDF-5, data is the last in the file, after a header that ends where the hint says."""
    good(run(openmpi, tmp_path, ONE.format(method=method, hints="alignment=1MiB"), 2, "--keep"))
    file = stored(tmp_path)
    assert file.read_bytes().startswith(beginning)
    assert method != "pnetcdf" or file.stat().st_size == MIB + 512 * KIB


LAYOUT = """
#include <hdf5.h>
#include <stdio.h>
int main(int count, char **arguments)
{
    hsize_t chunk = 0;
    const hid_t data = H5Dopen2(H5Fopen(arguments[count - 1], H5F_ACC_RDONLY, H5P_DEFAULT), "data", H5P_DEFAULT);
    const hid_t list = H5Dget_create_plist(data);
    if (H5Pget_layout(list) == H5D_CHUNKED)
        H5Pget_chunk(list, 1, &chunk);
    printf("%llu %lld\\n", (unsigned long long)chunk, (long long)H5Dget_offset(data));
    return 0;
}
"""


@pytest.mark.parametrize("method", ["hdf5-collective", "netcdf"])
def test_chunks_and_the_place_of_data_are_those_of_the_hints(openmpi, tmp_path, method):
    (tmp_path / "layout.c").write_text(LAYOUT)
    flags = good(builds.run(["pkg-config", "--cflags", "--libs", "hdf5-openmpi"])).stdout.split()
    program = compiled(tmp_path / "layout", tmp_path / "layout.c", *flags)

    def layout(folder, hints):
        folder.mkdir()
        good(run(openmpi, folder, ONE.format(method=method, hints=hints), 2, "--keep"))
        return [int(word) for word in good(builds.run([program, stored(folder)])).stdout.split()]

    assert layout(tmp_path / "chunked", "chunk=16KiB")[0] == 16 * KIB
    chunk, offset = (
        layout(tmp_path / "aligned", "alignment=1MiB collective_metadata=0")
        if method.startswith("hdf5")
        else layout(tmp_path / "aligned", "alignment=1MiB")
    )
    assert chunk == 0 and offset > 0 and offset % MIB == 0


@pytest.mark.parametrize("method", ["netcdf", "pnetcdf"])
def test_an_alignment_that_the_library_cannot_have_is_named(openmpi, tmp_path, method):
    done = run(openmpi.impatient, tmp_path, ONE.format(method=method, hints="alignment=1025MiB"), 1)
    assert done.returncode == 1 and "the hint alignment is larger than 1GiB; choose a smaller one" in error(done)


@pytest.mark.parametrize(
    "hints, said",
    [
        ("chunks=1MiB", "no loaded interface has the hint 'chunks'"),
        ("chunk", "'chunk' does not begin with NAME=SIZE"),
        ("alignment=1MiB chunk=x", "'chunk=x' does not begin with NAME=SIZE"),
        ("alignment=4KiB,alignment=1MiB", "'alignment' is given twice"),
    ],
)
def test_hint_that_nothing_uses_is_refused_with_its_line(openmpi, tmp_path, hints, said):
    done = run(openmpi, tmp_path, "\n" + ONE.format(method="hdf5", hints=hints))
    assert done.returncode == 2 and "workload.cfg:2: hints: " in error(done) and said in error(done)


@pytest.mark.parametrize(
    "listed, said",
    [
        ("hdf5;pnetcdf", "priomark has no pnetcdf: no parallel pnetcdf for this MPI library was found"),
        ("hdf5;hdf", "COFFEECUP_INTERFACES: 'hdf' is not known"),
        ("hdf5", None),
    ],
)
def test_library_that_is_required_and_not_found_fails_the_configuration(tmp_path, listed, said):
    """PnetCDF, which Debian has for Open MPI only, with MPICH."""
    options = ["-DMPI_C_COMPILER=mpicc.mpich", "-DCOFFEECUP_BENCHMARKS=priomark", "-DCOFFEECUP_TESTS=OFF"]
    options += [f"-DCOFFEECUP_INTERFACES={listed}"]
    done = builds.run(["cmake", "-S", builds.ROOT / "kernels", "-B", tmp_path, *options])
    assert (done.returncode != 0) == bool(said) and (said or "") in " ".join(done.stderr.split())

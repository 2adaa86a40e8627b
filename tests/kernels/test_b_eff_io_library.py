# SPDX-License-Identifier: Apache-2.0
"""b_eff_io with --interface: types of files through HDF5, PnetCDF, netCDF-4 and an interface of one's own, with
Debian's libraries. Files have the bytes of the definition, as another library reads them, and as many as those of
MPI-IO. test_ends_of_long_runs.py has how such runs end."""

from pathlib import Path

import builds
import numpy as np
import pytest
from b_eff_io_files import files_by_definition
from b_eff_io_runs import SMALL, run
from builds import SANITIZERS, compiled
from kernel_runs import good, of_kind, records, refused

from coffeecup.postprocess.benchmarks.scoring import score_log

LIBRARIES = ("hdf5", "pnetcdf", "netcdf")
# Patterns end with their share of the space, long before their time.
BRIEF = (*SMALL, "--types scatter,segmented,segmented-collective --partitions all --scheduled-time 600")
BRIEF += ("--space-limit 64MiB",)
READER = """
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments)
{
    int file, data, dimension;
    size_t bytes, start = 0;
    if (nc_open(arguments[count - 1], NC_NOWRITE, &file) || nc_inq_varid(file, "data", &data) ||
        nc_inq_vardimid(file, data, &dimension) || nc_inq_dimlen(file, dimension, &bytes))
        return 1;
    unsigned char *all = malloc(bytes);
    return nc_get_vara_uchar(file, data, &start, &bytes, all) || fwrite(all, 1, bytes, stdout) != bytes;
}
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A program that prints the variable of a file in any of the formats: it reads with netCDF, without MPI."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "reader.c").write_text(READER)
    config = ["pkg-config", "netcdf-mpi"]
    flags = good(builds.run([*config, "--cflags", "--libs"])).stdout.split()
    prefix = good(builds.run([*config, "--variable=prefix"])).stdout.strip()
    return compiled(folder / "reader", folder / "reader.c", f"-I{prefix}/include", *flags)


@pytest.fixture(scope="module")
def own(openmpi, tmp_path_factory):
    """A folder with an interface of POSIX calls, which has no view, in both kinds; with one of which both kinds are the
    same, and one that stores objects."""
    folder = tmp_path_factory.mktemp("own")
    skeleton = (openmpi.bin.parent / "share" / "priomark" / "skeleton.c").read_text()
    kinds = {"own": 0, "own-collective": 1, "odd": 0, "odd-collective": 0, "far": "0, .objects = true"}
    for name, collective in kinds.items():
        text = skeleton.replace('"skeleton"', f'"{name}"').replace(".plain", f".collective = {collective}, .plain")
        (folder / f"{name}.c").write_text(text)
        flags = ["-shared", "-fPIC", f"-I{openmpi.bin.parent / 'include'}"]
        compiled(folder / f"priomark_{name}.so", folder / f"{name}.c", flags=flags)
    return folder


def expected_and_stored(folder):
    """What the definition says of each file of two processes, and its path."""
    [scratch] = [path for path in folder.iterdir() if path.is_dir()]
    expected = dict(files_by_definition(records(folder / "log.jsonl"), 0, scratch))
    assert {path.name for path in scratch.iterdir() if not path.name.startswith(".")} == {*expected}
    return [(data, scratch / name) for name, data in expected.items()]


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_byte_lies_in_the_variable_where_the_definition_says(openmpi, reader, tmp_path, name):
    good(run(openmpi, tmp_path, 2, *BRIEF, "--keep", "--interface", name))
    files = expected_and_stored(tmp_path)
    assert len(files) == 3
    for data, path in files:
        done = builds.run([reader, path], text=False)
        found = np.frombuffer(done.stdout, dtype=np.uint8)[: data.size]
        assert done.returncode == 0 and (found == data).all(), (path, int((found != data).argmax()))


def test_an_interface_without_a_view_writes_the_same_files(openmpi, own, tmp_path):
    good(run(openmpi, tmp_path, 2, *BRIEF, "--keep --check-all", "--interface", own / "own"))
    assert all((np.fromfile(path, dtype=np.uint8) == data).all() for data, path in expected_and_stored(tmp_path))


def test_a_library_accesses_the_same_bytes_as_mpi_io_and_has_no_b_eff_io(openmpi, tmp_path):
    accessed, scores = {}, {}
    for name in ("mpi-io", "hdf5"):
        folder = tmp_path / name
        folder.mkdir()
        good(run(openmpi, folder, 2, *BRIEF, "--interface", name))
        every = of_kind(folder / "log.jsonl", "measurement")
        accessed[name] = [(r["partition"], r["method"], r["pattern"], r["calls_sum"], r["bytes"]) for r in every]
        scores[name] = score_log(folder / "log.jsonl")
    assert accessed["mpi-io"] == accessed["hdf5"] and len(accessed["hdf5"]) == 3 * 27
    for name, score in scores.items():
        assert score.headline[0] == "library_bandwidth" and len(score.metrics) >= 7
        assert {metric for metric in score.metrics if not metric.startswith(("library_", "energy", "power"))} == set()
        assert score.breaches[0].key == "interface" and f"interface {name}" in score.breaches[0].text
    assert scores["mpi-io"].metrics.keys() == scores["hdf5"].metrics.keys()


def test_every_byte_is_checked_with_sanitizers(openmpi_sanitized, own, tmp_path):
    """netCDF-4 has no view either, and its many calls would take minutes."""
    for name, states in {"hdf5": "HDF5 ", "pnetcdf": "PnetCDF ", own / "own": ""}.items():
        log = tmp_path / "log.jsonl"
        words = ("--directory", tmp_path, "--log", log, *BRIEF, "--space-limit 48MiB --check-all", "--interface", name)
        good(openmpi_sanitized.run(2, "b_eff_io", *words, env=SANITIZERS))
        loaded = score_log(log).log.plan.interfaces
        assert [entry.name for entry in loaded] == [Path(name).name, f"{Path(name).name}-collective"]
        assert all((entry.properties or "").startswith(states) for entry in loaded)
        log.unlink()
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--interface hdf", "cannot load './priomark_hdf.so': no such file"),
        ("--interface no/priomark_hdf5.so", "hdf5, or DIRECTORY/NAME of DIRECTORY/priomark_NAME.so"),
        ("--interface OWN/odd", "'odd-collective' does not serve b_eff_io: its accesses are not collective"),
        ("--interface OWN/far", "'far' does not serve b_eff_io: it stores objects"),
        ("--interface hdf5 --types scatter,shared", "valid --types are scatter, segmented and segmented-collective"),
        ("--interface hdf5 --hints cb_nodes=2", "no loaded interface has the hint 'cb_nodes'"),
        ("--interface hdf5", "choose a --space-limit"),
    ],
)
def test_wrong_interface_is_refused(openmpi, own, tmp_path, options, said):
    limited = BRIEF if "limit" not in said else BRIEF[:-1]
    done = run(openmpi, tmp_path, 1, *limited, *options.replace("OWN", str(own)).split())
    refused(done, "--", said)
    assert not [*tmp_path.iterdir()]

# SPDX-License-Identifier: Apache-2.0
"""The builds of PRIOMark's kernel, with MPI-IO, with MPI and without, and the workloads that come with it."""

import shutil
from dataclasses import replace

import kernel_runs
import pytest
from builds import ROOT, install_kernels
from kernel_runs import good, refused
from priomark_runs import EVERYTHING, leftovers, run
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log


def needed(program):
    return kernel_runs.run(["ldd", program], check=True).stdout


def test_serial_build_runs_without_mpi_and_offers_what_needs_none(serial, tmp_path):
    assert "mpi" not in needed(serial.bin / "priomark")
    done = run(serial, tmp_path, EVERYTHING, 1, "--only common_file")
    assert "workload.cfg:2:" in refused(done, "'common_file' requires a build with MPI")
    done = good(run(serial, tmp_path, "check = true;" + EVERYTHING))
    assert "workload.cfg:2: 'common_file' requires a build with MPI and is left out" in done.stderr
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["build"] == "serial" and log.run["ranks"] == 1 and "without MPI" in log.run["mpi"]["library"]
    assert {m["benchmark"] for m in log.records["measurement"]} == {"async", "single_file", "raw"}


def test_serial_build_runs_the_default_workload_and_the_score_says_what_is_missing(serial, tmp_path):
    good(run(serial, tmp_path, "default"))
    score = score_log(tmp_path / "log.jsonl")
    assert not score.official
    [breach] = score.breaches
    assert breach.key == "left_out" and "common_file and strided did not run" in breach.text


def test_build_without_mpi_io_measures_with_posix_calls(openmpi, tmp_path):
    compiler = shutil.which("mpicc.openmpi") or "mpicc"
    settings = (f"-DMPI_C_COMPILER={compiler}", "-DCOFFEECUP_MPI_IO=OFF", "-DCOFFEECUP_BENCHMARKS=priomark")
    folder = install_kernels("tests-openmpi-without-mpi-io", *settings)
    symbols = kernel_runs.run(["nm", "-D", folder / "bin" / "priomark"], check=True).stdout
    assert "MPI_Allreduce" in symbols and "MPI_File" not in symbols
    mine = replace(openmpi, bin=folder / "bin")
    known = "'individual' is not known; valid in this build are posix, posix-direct"
    refused(run(mine, tmp_path, EVERYTHING, 2), known)
    done = run(mine, tmp_path, "strided = { };", 2)
    refused(done, "no sub-benchmark")
    assert "'strided' requires a build with MPI-IO" in done.stderr
    files = 'common_file = { process_size = "64KiB"; }; single_file = { process_size = "64KiB"; };'
    good(run(mine, tmp_path, "check = true; async = { };" + files, 2))
    assert read_log(tmp_path / "log.jsonl").plan["build"] == "mpi"


# Of the workloads for the paper's figures: a sub-benchmark or pattern, and what its row has.
FIGURES = {
    "figure_3": [("common_file", "32 MiB", "16 KiB", "50.0 %"), ("async", "8 MiB", "8192 KiB")],
    "figure_5": [("single_file", "256 MiB", "32 KiB")],
    "figure_4_oltp": [("random-read-write", "explicit-collective", "1024 MiB", "8 KiB", "33.3 %")],
    "figure_4_webserver": [("random-read-write", "individual", "1024 MiB", "1 KiB", "95.0 %")],
}


INCLUDED = {path.stem for path in (ROOT / "kernels/priomark/workloads").glob("*.cfg")}


@pytest.mark.parametrize("name", sorted(INCLUDED | FIGURES.keys()))
def test_workload_that_comes_with_it_is_found_by_name_with_the_parameters_of_the_papers_figure(openmpi, tmp_path, name):
    done = run(openmpi, tmp_path, name, 2, "--dry-run")
    assert done.returncode == 0 and f"/{name}.cfg'" in done.stdout
    assert not (tmp_path / "log.jsonl").exists() and leftovers(tmp_path) == []
    for wanted in FIGURES.get(name, []):
        assert any(all(word in row for word in wanted) for row in done.stdout.splitlines()), (wanted, done.stdout)

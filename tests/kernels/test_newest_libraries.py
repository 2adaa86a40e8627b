# SPDX-License-Identifier: Apache-2.0
"""Each kernel with the newest MPI libraries (site_configs/local/constraints.txt): it runs, its log yields a score and
states the library and its parts. tests/evidence/libraries.py has more libraries, for `make prove`."""

import re
from dataclasses import replace

import builds
import pytest
from builds import ROOT
from conftest import COFFEECUP
from ftio_runs import assert_right
from kernel_runs import good, of_kind, records
from priomark_runs import EVERYTHING

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_log

NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
SINGLE_COPY = {"openmpi": "cma", "mpich": None}  # MPICH does not state it
COMPONENT = {"openmpi": "ompio", "mpich": "romio"}
SMALL_MESSAGES = (
    "--memory-per-process 1MiB --patterns ring,random --random-patterns 1",
    "--methods sendrecv --repetitions 1 --longest-loop 1",
)
SMALL_FILES = ("--scheduled-time 0.4 --memory-per-process 64MiB --space-limit 1GiB",)
STEERING = ("OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "UCX_", "FI_", "ROMIO_", "LD_PRELOAD")


@pytest.fixture(scope="module", params=NAMES)
def mpi(request):
    return builds.newest_kernels(request.param)


def run(mpi, folder, kernel, *options):
    """The log of a run that ended well and yields a score."""
    log = folder / "log.jsonl"
    good(mpi.run(2, kernel, f"--log {log}", *options, cwd=folder))
    assert isinstance(score_log(log), Score)
    return log


def version_of(name):
    """Of a library in the constraints file."""
    constraints = (ROOT / "site_configs" / "local" / "constraints.txt").read_text()
    [version] = re.findall(rf"^{name}==([\d.]+)$", constraints, re.MULTILINE)
    return version


def component_and_hints(log):
    """What the log states, and whether the library reported hints of ROMIO."""
    [stated] = of_kind(log, "mpi_io")
    hints = {name for record in of_kind(log, "pattern_type") for name in record["hints"]}
    return stated["component"], "romio_cb_write" in hints


def test_b_eff_states_the_library_and_how_it_copies(mpi, tmp_path):
    stated = records(run(mpi, tmp_path, "b_eff", *SMALL_MESSAGES))[0]
    version = version_of(mpi.name)
    assert stated["build"]["mpi_library"] == f"{NAMES[mpi.name]} {version}"
    assert re.match(rf"{NAMES[mpi.name]}\b.*\b{re.escape(version)}", stated["mpi"]["library"])
    assert stated["mpi"]["single_copy"] == SINGLE_COPY[mpi.name]
    # What the launcher sets for itself is no setting of this run.
    given = {name for name in mpi.environment if name.startswith(STEERING)}
    assert set(stated["environment"]) == given | {"LD_PRELOAD"}


def test_single_copies_that_are_switched_off_are_not_stated(tmp_path):
    mpi = replace(builds.newest_kernels("openmpi"), settings={"OMPI_MCA_smsc": "^cma"})
    log = run(mpi, tmp_path, "b_eff", *SMALL_MESSAGES)
    assert records(log)[0]["mpi"]["single_copy"] is None


def test_kernel_for_the_mpi_abi_states_the_interface_and_the_library_that_runs(tmp_path):
    """It requires no other MPI library than the one that any implementation of the ABI provides."""
    tools = builds.WHEELS / "mpich" / "bin"
    if not (tools / "mpicc_abi").exists():
        pytest.skip(f"{tools} has no mpicc_abi: site_configs/local/setup test installs it")
    only = "-DCOFFEECUP_BENCHMARKS=b_eff"
    mpi = builds.kernels_of("abi", tools / "mpicc_abi", tools / "mpirun", only, folder="tests-newest")
    needed = re.findall(r"NEEDED.*\[(libmp\S+)\]", builds.good(builds.run(["readelf", "-d", mpi.bin / "b_eff"])).stdout)
    assert needed == ["libmpi_abi.so.1"]
    log = run(mpi, tmp_path, "b_eff", *SMALL_MESSAGES)
    stated = records(log)[0]
    assert stated["build"]["mpi_library"] == "MPI ABI 1.0"
    assert re.match(rf"MPICH Version:\s+{re.escape(version_of('mpich'))}", stated["mpi"]["library"])
    page = tmp_path / "report.html"
    builds.good(builds.run([COFFEECUP, "report", log, "-o", page]))
    assert re.search(r"MPICH Version:.*; compiled with MPI ABI 1\.0; standard", page.read_text(), re.DOTALL)


def test_b_eff_io_states_the_component_and_its_hints(mpi, tmp_path):
    log = run(mpi, tmp_path, "b_eff_io", *SMALL_FILES)
    assert component_and_hints(log) == (COMPONENT[mpi.name], COMPONENT[mpi.name] == "romio")


def test_the_other_component_of_open_mpi_is_recognised_by_its_hints(tmp_path):
    mpi = replace(builds.newest_kernels("openmpi"), settings={"OMPI_MCA_io": "romio341"})
    assert component_and_hints(run(mpi, tmp_path, "b_eff_io", *SMALL_FILES)) == ("romio", True)


def test_ftio_computes_the_right_result(mpi, tmp_path):
    if not (mpi.bin / "ftio").exists():
        pytest.skip(f"there is no FFTW for the newest {NAMES[mpi.name]}; make prove GOALS=libraries builds one")
    assert_right(run(mpi, tmp_path, "ftio", f"--directory {tmp_path} --input 2 --storage mpiio --keep"))


def test_priomark_measures_by_every_access_method(mpi, tmp_path):
    (tmp_path / "workload").write_text(EVERYTHING)
    log = run(mpi, tmp_path, "priomark", f"--directory {tmp_path} --workload", tmp_path / "workload")
    assert [record["component"] for record in of_kind(log, "mpi_io")] == [COMPONENT[mpi.name]]

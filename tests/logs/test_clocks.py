# SPDX-License-Identifier: Apache-2.0
"""A library on the library path, in place of the site's MPI library, shows less time only while something is
measured."""

import re
import statistics
import subprocess
from pathlib import Path

import pytest
from contracts_made import FREE, NONCE
from test_binding import ENTRY, LATER, SHORT, log_of, place_of

from coffeecup.postprocess.acceptance.binding import Issued, unbound
from coffeecup.postprocess.logs.records import Clocks, Files

# Halves the time between two readings of the clock, and pays it back in the next barrier, before the next loop, and at
# the end. So nothing is missing over the whole run.
HALVING = """
int PMPI_Barrier(void *comm);
int PMPI_Reduce(const void *send, void *receive, int count, void *type, void *operation, int root, void *comm);
double PMPI_Wtime(void);
static double last, owed;
int MPI_Barrier(void *comm) { last = owed = 0; return PMPI_Barrier(comm); }
int MPI_Reduce(const void *send, void *receive, int count, void *type, void *operation, int root, void *comm)
{
    last = owed = 0;
    return PMPI_Reduce(send, receive, count, type, operation, root, comm);
}
double MPI_Wtime(void)
{
    const double now = PMPI_Wtime();
    if (last > 0)
        owed += (now - last) / 2;
    last = now;
    return now - owed;
}
"""


def proxy_of_libmpi(folder, kernel):
    """HALVING under the name of the library that a kernel needs, with the real one under another name beside it."""
    linked = subprocess.run(["ldd", kernel], capture_output=True, text=True, check=True).stdout
    name, path = re.search(r"(libmpi\.so\S*) => (/\S+)", linked).groups()
    other = name.replace("libmpi", "libmpX")
    (folder / other).write_bytes(Path(path).read_bytes().replace(f"{name}\0".encode(), f"{other}\0".encode()))
    (folder / "halving.c").write_text(HALVING)
    named = [f"-Wl,-soname,{name}", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", folder / other]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / name, folder / "halving.c", *named], check=True)
    return folder / name


def test_a_libmpi_that_halves_short_times_is_refused(openmpi, tmp_path):
    """Its clock is right over the whole run, and nothing was preloaded."""
    kernel = openmpi.bin / "b_eff"
    proxy = proxy_of_libmpi(tmp_path, kernel)
    words = ["env", f"{NONCE}={FREE}", f"LD_LIBRARY_PATH={tmp_path}", kernel, *SHORT, "--time-budget", "4"]
    halved = log_of(openmpi, ["-n", "2", *words, "--log", tmp_path / "log.jsonl"], tmp_path)
    [refusal] = unbound(place_of(halved), halved, Issued({FREE: ENTRY}, LATER))
    assert refusal.key == "clock" and "the clock that measured " in refusal.text
    ratios = [phase.measured_seconds / phase.day_seconds for phase in halved.only(Clocks).phases]
    assert statistics.median(ratios) == pytest.approx(0.5, abs=0.05)
    assert str(proxy) in [file.path for file in halved.only(Files).files]  # `software: libraries` refuses it

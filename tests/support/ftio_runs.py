# SPDX-License-Identifier: Apache-2.0
"""What the tests of FTIO's kernel share: running it in a test's own folder, and its result against NumPy's."""

from pathlib import Path

import numpy as np
import pytest
from kernel_runs import of_kind, records


def needs_ftio(mpi):
    """Skips a test if there is no ftio for an MPI library."""
    if not (mpi.bin / "ftio").exists():
        pytest.skip(f"ftio was not built with {mpi.name}: there is no FFTW for this MPI")


def run(mpi, folder, ranks, *options, env=None):
    """Run ftio in a folder; `env` reaches the kernel and not the launcher."""
    needs_ftio(mpi)
    return mpi.run(ranks, "ftio", *options, env=env, cwd=folder)


def stored_matrix(log):
    """The kept result, put together from the strips of all processes, or from the shared file."""
    plan, folder = records(log)[1], Path(log).parent / of_kind(log, "start")[0]["directory"]
    width = plan["matrix_width"]
    if plan["storage"] == "mpiio":
        return np.fromfile(folder / "matrix", dtype=complex).reshape(width, width)
    return np.hstack([np.fromfile(strip, dtype=complex).reshape(width, -1) for strip in sorted(folder.glob("strip-*"))])


def transform_by_numpy(width):
    """The transpose of the two-dimensional transform of the specification's matrix."""
    p, q = np.ogrid[:width, :width]
    matrix = (
        np.exp(2j * np.pi * p / width) + np.exp(2j * np.pi * q / width) + (q == (p + 1) % width) + ((p == 0) & (q == 1))
    )
    return np.fft.fft2(matrix).T


def assert_right(log):
    found, expected = stored_matrix(log), transform_by_numpy(records(log)[1]["matrix_width"])
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= 1e-9 * np.abs(expected)).all()

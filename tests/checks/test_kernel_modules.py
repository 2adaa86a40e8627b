# SPDX-License-Identifier: Apache-2.0
"""Installed kernels that the environment's modules put on PATH, with builder=prebuilt: an Lmod module written by hand,
and the one that EasyBuild writes for its installation."""

import os
import shutil
import sys
from pathlib import Path

import modules_made
import pytest
from builds import OPEN_MPI, ROOT, good, run
from check_runs import WITH_MPI, configuration, only_case, values
from conftest import REFRAME

from coffeecup import __version__

CHECKS_OF = "priomark"
SMALL = values("builder=prebuilt", "priomark.workload=probe")
EASYBUILD = Path(sys.executable).with_name("eb")


@pytest.fixture
def passes(reframe, tmp_path):
    """A function that runs priomark on two processes in an environment with this module, below the directory."""
    assert not shutil.which("priomark"), "only the module finds it"
    modules = modules_made.write_modules(tmp_path)

    def passes(module, directory):
        environment = WITH_MPI | {"modules": ["openmpi/1.0", module]}
        here = {"env_vars": [list(pair) for pair in OPEN_MPI.items()], "features": ["overcommit"]}
        made = configuration(tmp_path, here, environments=[environment], modules_system="lmod")
        command = [*modules_made.shell(f"{modules} {directory}", "openmpi"), *REFRAME]
        session = reframe("-r", "-n", "num_processes=2$", *SMALL, config=made, command=command)
        assert session.returncode == 0, session.output
        case = only_case(session)
        return (case["result"], case["builder"], case["prebuilt_directory"]) == ("pass", "prebuilt", "")

    return passes


def test_kernel_of_a_module_is_run(passes, openmpi, tmp_path):
    directory = tmp_path / "centre"
    (directory / "kernels").mkdir(parents=True)
    (directory / "kernels" / "1.0.lua").write_text(f'prepend_path("PATH", "{openmpi.bin}")\n')
    assert passes("kernels/1.0", directory)


@pytest.mark.prove
def test_kernel_that_easybuild_installs_is_run(passes, tmp_path):
    """With the toolchain and the libraries of the system, and with the module that EasyBuild writes."""
    if not EASYBUILD.exists():
        pytest.skip("no EasyBuild in this environment: site_configs/local/setup prove")
    variables = {
        "COFFEECUP_ROOT": str(ROOT),
        "EASYBUILD_PREFIX": str(tmp_path / "eb"),
        "EASYBUILD_MODULES_TOOL": "Lmod",
        "EB_PYTHON": sys.executable,
    }
    build = [EASYBUILD, ROOT / "site_configs" / "common" / "coffeecup.eb"]
    as_root = [] if os.geteuid() else ["--allow-use-as-root-and-accept-consequences"]
    lmod = ["bash", "-c", f'. {modules_made.LMOD}; exec "$@"', "bash"]
    good(run([*lmod, *build, *as_root], env=os.environ | variables, timeout=3600))
    assert passes(f"coffeecup/{__version__}", tmp_path / "eb" / "modules" / "all")

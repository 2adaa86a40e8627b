# SPDX-License-Identifier: Apache-2.0
"""Where things are in the tree, from any working directory, and where output goes."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"
LOCAL_CONFIGURATION = ROOT / "site_configs" / "local" / "settings.py"
REFERENCE_VALUES = ROOT / "reference_values"
SPACK_ENVIRONMENT = ROOT / "site_configs" / "common" / "spack.yaml"
SPACK_RECIPES = ROOT / "spack-repo" / "spack_repo" / "coffeecup" / "packages"


def spack_output():
    """Parent of Spack's environments, absolute; in the user's own directory, as site_configs/common/frame.py has it."""
    return Path(os.environ.get("COFFEECUP_OUTPUT") or "output", "spack").resolve()


def as_seen_from_the_job(path):
    """A path of the command line, absolute, because jobs run in other directories; unchanged if it is empty or begins
    with what the shell of the job expands."""
    return path if path[:1] in ("", "$", "~") else str(Path(path).absolute())

# SPDX-License-Identifier: Apache-2.0
"""Where things are in the tree, from any working directory."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"
REFERENCE_VALUES = ROOT / "reference_values"
SPACK_ENVIRONMENT = ROOT / "site_configs" / "common" / "spack.yaml"
SPACK_RECIPES = ROOT / "spack-repo" / "spack_repo" / "coffeecup" / "packages"
SPACK_OUTPUT = ROOT / "output" / "spack"

# SPDX-License-Identifier: Apache-2.0
"""The Python folders of the tree are installed below one name; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

FOLDERS = ("postprocess", "reference_values", "reframe_checks", "site_configs")

packages = find_packages(include=[*FOLDERS, "postprocess.*", "site_configs.common", "site_configs.local"])
setup(
    packages=["coffeecup", *(f"coffeecup.{package}" for package in packages)],
    package_dir={f"coffeecup.{folder}": folder for folder in FOLDERS},
)

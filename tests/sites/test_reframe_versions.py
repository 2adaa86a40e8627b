# SPDX-License-Identifier: Apache-2.0
"""Versions of ReFrame that are supported, and that others are refused in one sentence wherever ReFrame begins to load
files."""

import re
from importlib import metadata

import pytest
from builds import ROOT

from coffeecup.postprocess import reframe_version


@pytest.mark.parametrize(
    ("versions", "supported"),
    [(("4.8.4", "4.8.99", "5.0.0", ""), False), (("4.9.0", "4.10.4", "4.11.0-dev.2", "4.99.0"), True)],
)
def test_versions_of_reframe(versions, supported):
    assert [bool(reframe_version.refusal(version)) for version in versions] == [not supported] * 4


def test_supported_versions_are_those_of_the_package():
    [required] = [name for name in metadata.requires("coffeecup") if name.startswith("reframe-hpc")]
    oldest, before = (".".join(map(str, version)) for version in (reframe_version.OLDEST, reframe_version.BEFORE))
    assert required.replace(" ", "") in (f"reframe-hpc<{before},>={oldest}", f"reframe-hpc>={oldest},<{before}")
    assert f"ReFrame {oldest}" in (ROOT / "README.md").read_text()


def test_every_file_that_reframe_may_load_first_checks_the_version():
    """Versions before 4.9 load a file without its package: the import comes before the relative ones, which fail."""
    for path in (ROOT / "reframe_checks").glob("*.py"):
        text = path.read_text()
        if re.search(r"^\s*(from|import) reframe\b", text, re.MULTILINE):
            place = text.find("\nfrom coffeecup.postprocess import reframe_version  # noqa: F401\n")
            assert 0 < place < (text.find("\nfrom .") if "\nfrom ." in text else len(text)), path.name


def test_every_configuration_checks_the_version_before_its_relative_import():
    """Versions before 4.9 load a configuration without its package."""
    check = "\nif not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence\n"
    check += "    from coffeecup.postprocess import reframe_version  # noqa: F401\n\nfrom "
    folder = ROOT / "site_configs"
    paths = [*folder.glob("*/settings.py"), folder / "common" / "templates" / "settings.py.j2"]
    assert len(paths) > 5 and all(check in path.read_text() for path in paths)

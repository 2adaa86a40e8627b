# SPDX-License-Identifier: Apache-2.0
"""Locates the checkout and its sites, and reads a site's configuration as ReFrame does."""

import difflib
import re
import shlex
import shutil
from contextlib import contextmanager
from pathlib import Path

from jsonschema import ValidationError
from reframe.core.config import load_config
from reframe.core.exceptions import ConfigError

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")  # of a site
OF_REFRAME = ("generic", "builtin")  # names in its own configuration, which comes before that of a site


class SiteError(Exception):
    """A site cannot be used: place, problem and remedy in one sentence."""


def find_tree():
    """The root of the checkout: the working directory or a parent of it, otherwise the one that contains this
    module."""
    here = Path(__file__).resolve().parents[2]
    for folder in (Path.cwd(), *Path.cwd().parents, here):
        if (folder / "reframe_checks" / "base.py").is_file() and (folder / "site_configs").is_dir():
            return folder
    raise SiteError(
        "not inside a checkout of coffeecup: change to the directory that contains reframe_checks/ and site_configs/"
    )


def is_checkout(tree):
    """Whether sites may be added to the tree; an installed package belongs to its package manager."""
    return (tree / "kernels" / "CMakeLists.txt").is_file()


def names(tree):
    """All sites of the tree."""
    return sorted(path.parent.name for path in tree.glob("site_configs/*/settings.py"))


@contextmanager
def new_folder(path):
    """A directory that is removed again unless what fills it ends well. Raises OSError."""
    path.mkdir(parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def settings_of(tree, name):
    """Path of a site's configuration, by its name, or by its directory anywhere else. Raises SiteError with the names
    that are there."""
    places = (Path(name).resolve(), tree / "site_configs" / name)
    try:
        if path := next((place / "settings.py" for place in places if (place / "settings.py").is_file()), None):
            return path
        taken = any(place.exists() for place in places)
    except OSError as error:
        raise SiteError(f"{error.filename}: {error.strerror}") from None
    if taken and Path(name).name == "settings.py":
        raise SiteError(f"{name} is a file: name its directory, {shlex.quote(str(Path(name).parent))}")
    known = names(tree)
    close = difflib.get_close_matches(name, known, 1)
    new = name if NAME.fullmatch(name) and not taken else "NAME"
    new += "" if is_checkout(tree) else " --directory DIRECTORY"
    new = f"NAME --directory {shlex.quote(name)}" if "/" in name and not taken else new
    raise SiteError(
        f"there is no site {name!r}{f' (did you mean {close[0]!r}?)' if close else ''}: "
        + (f"existing sites are {', '.join(known)}; " if known else "")
        + f"create one with `coffeecup site new {new}`"
    )


def load_configuration(path):
    """ReFrame's valid configuration of a file. Raises SiteError with the place in it that ReFrame's schema refuses."""
    try:
        site = load_config(str(path))
        site.validate()
        return site
    except ConfigError as error:
        cause = error.__cause__
        if isinstance(cause, ValidationError):
            raise SiteError(f"{path}: {cause.json_path}: {cause.message:.300}") from None
        raise SiteError(f"{path}: {error}") from None
    except Exception as error:  # the file is a program and may raise anything
        raise SiteError(f"{path}: {type(error).__name__}: {error}") from None


def read_configuration(path):
    """The systems and environments of a configuration that it does not have from ReFrame. Raises SiteError."""
    site = load_configuration(path)
    return {
        section: [entry for entry in site.get(section) or () if entry["name"] not in OF_REFRAME]
        for section in ("systems", "environments")
    }

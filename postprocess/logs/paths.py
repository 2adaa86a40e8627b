# SPDX-License-Identifier: Apache-2.0
"""Files that a user names, alone or in a directory."""

import errno
import os
import stat
from fnmatch import filter as matching
from pathlib import Path

from coffeecup.postprocess.show.words import size


def files_below(path: Path, pattern: str) -> list[Path]:
    """The files of a directory whose names match, at any depth, in the order of their paths; the path itself if it is
    no directory. A directory that cannot be searched is in the list itself: reading it fails, so that what may be in
    it is not left out silently."""
    if not os.path.isdir(path):  # noqa: PTH112, since Path.is_dir raises OSError for some names
        return [path]
    closed = []
    tree = os.walk(path, onerror=lambda error: closed.append(Path(error.filename)))
    found = [Path(folder, name) for folder, _, names in tree for name in matching(names, pattern)]
    return sorted([*found, *closed])


def regular(path: Path) -> Path:
    """The path of a file to read. Raises OSError if it is something that could block or never ends."""
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path


def content(path: Path, largest: int) -> bytes:
    """The bytes of a file. Raises OSError also for a file that is larger than `largest` byte."""
    if not path.is_dir() and regular(path).stat().st_size > largest:
        raise OSError(errno.EFBIG, f"larger than {size(largest)}", str(path))
    return path.read_bytes()


def replace_text(path: Path, text: str) -> None:
    """Writes a file in one step: a full disk or a signal leaves it as it was, and a link leads to it. Raises
    OSError."""
    path = path.resolve()
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)

# SPDX-License-Identifier: Apache-2.0
"""Files that a user names, alone or in a directory."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A path to write to, whose file then takes the place of `path` in one step: a full disk or a signal leaves that as
    it was, and a link leads to it. What is no file, such as /dev/stdout, is written itself. Raises OSError."""
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name}.new")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Writes a file in one step. Raises OSError."""
    with replaced(path) as file:
        file.write_text(text, encoding="utf-8")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps other processes that lock this path waiting. The lock is a file beside it, which the last one removes: the
    file itself may be replaced, and an exclusive lock on NFS needs a file that is open for writing. Without effect on a
    file system without locks. Raises OSError."""
    path = path.resolve()
    beside, is_mine = path.with_name(f".{path.name}.lock"), False
    while not is_mine:
        with beside.open("wb") as file:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):  # whoever had the lock removed it
                is_mine = os.path.samestat(os.fstat(file.fileno()), beside.stat())
            if is_mine:
                try:
                    yield
                finally:
                    beside.unlink(missing_ok=True)

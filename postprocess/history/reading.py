# SPDX-License-Identifier: Apache-2.0
"""The sessions that tables are made of, each read once: what a results database stored is kept beside it as columns.

The file beside it, `.NAME.derived`, may be deleted at any time. A session in it counts only with the hash of what the
database has, of the code that reads it and of what was kept; a file that is damaged is written anew. It belongs to the
owner of the database: nobody else creates it, or is believed.
"""

import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from math import inf
from pathlib import Path

import orjson

from coffeecup.postprocess.history.table import columns_of
from coffeecup.postprocess.sessions.files import SessionReport, blobs, files_of, is_database, load_report, stored

TABLE = "CREATE TABLE IF NOT EXISTS kept(uuid TEXT PRIMARY KEY, hash BLOB, content BLOB)"
FASTEST = 1  # of zlib's levels


@dataclass(frozen=True)
class Session:
    """A session: when it began (seconds since 1970), its command line, and its test cases (table.columns_of)."""

    uuid: str
    begun: float
    cmdline: str
    columns: dict[str, list]


def read_sessions(sources: Iterable, since: datetime | None = None, until: datetime | None = None) -> list[Session]:
    """As sessions.files.read_reports. The columns of all sessions share their texts."""
    found: dict[str, Session] = {}
    known: dict[str, str] = {}
    earliest = since.timestamp() if since else -inf
    latest = until.timestamp() if until else inf
    for path in files_of(sources):
        for one in of_database(path, earliest, latest) if is_database(path) else [of_report(path, load_report(path))]:
            if earliest <= one.begun <= latest:
                for name, column in one.columns.items():
                    if column and isinstance(column[0], str):
                        one.columns[name] = list(map(known.setdefault, column, column))
                found.setdefault(one.uuid, one)
    return sorted(found.values(), key=lambda one: one.begun)


def of_report(path: Path, content: dict) -> Session:
    report = SessionReport(path, content)
    info = report.info
    return Session(info["uuid"], info["time_start_unix"], info.get("cmdline") or "", columns_of(report))


def of_database(path: Path, earliest: float, latest: float) -> Iterator[Session]:
    kept, every = Kept(path), set()
    for uuid, blob in blobs(path, earliest, latest):
        every.add(str(uuid))
        if not (session := kept.get(str(uuid), blob)):
            session = of_report(path, stored(path, uuid, blob))
            kept.add(str(uuid), blob, session)
        session.columns["source"] = [str(path)] * len(session.columns["case"])
        yield session
    kept.write(every if (earliest, latest) == (-inf, inf) else None)


@cache
def code() -> bytes:
    """The hash of what decides how a session is read, and of more: all of postprocess, and ReFrame's version."""
    parts = [path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py"))]
    return sha256(b"".join(sha256(part).digest() for part in [*parts, version("reframe-hpc").encode()])).digest()


def hash_of(uuid: str, blob: bytes, content: bytes) -> bytes:
    return sha256(b"".join(sha256(part).digest() for part in (code(), uuid.encode(), blob, content))).digest()


class Kept:
    """What is kept beside a results database. Without it, or if it cannot be read or written, nothing is known."""

    def __init__(self, database: Path):
        self.database, self.path = database, database.with_name(f".{database.name}.derived")
        self.connection: sqlite3.Connection | None = None
        self.new: list[tuple[str, bytes, bytes]] = []
        try:
            self.connection = self.opened()
        except (OSError, sqlite3.OperationalError):
            pass  # nobody may write here, or another process does
        except sqlite3.DatabaseError:
            self.forget()

    def opened(self) -> sqlite3.Connection | None:
        """None if the file is not a regular one of the database's owner. Who may read the database may read it."""
        of_database = self.database.stat()
        if of_database.st_uid == os.geteuid():
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, of_database.st_mode & 0o666))
        of_file = self.path.lstat()
        if not stat.S_ISREG(of_file.st_mode) or of_file.st_uid != of_database.st_uid:
            return None
        connection = sqlite3.connect(self.path, timeout=0)
        connection.execute(TABLE)
        return connection

    def forget(self) -> None:
        """Replaces a damaged file by an empty one."""
        self.connection = None
        with suppress(OSError, sqlite3.DatabaseError):
            self.path.unlink()
            self.connection = self.opened()

    def get(self, uuid: str, blob: bytes) -> Session | None:
        row = None
        try:
            if self.connection:
                row = self.connection.execute("SELECT hash, content FROM kept WHERE uuid = ?", (uuid,)).fetchone()
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError:
            self.forget()
        if not row or not isinstance(row[1], bytes) or hash_of(uuid, blob, row[1]) != row[0]:
            return None
        return Session(*orjson.loads(zlib.decompress(row[1])))

    def add(self, uuid: str, blob: bytes, session: Session) -> None:
        if self.connection:
            values = session.uuid, session.begun, session.cmdline, session.columns
            content = zlib.compress(orjson.dumps(values), FASTEST)
            self.new.append((uuid, hash_of(uuid, blob, content), content))

    def write(self, every: set[str] | None) -> None:
        """Writes what is new, and removes what is not of `every` session of the database, if they are given."""
        if self.connection:
            with suppress(sqlite3.DatabaseError), closing(self.connection) as connection, connection:
                if self.new:
                    connection.executemany("REPLACE INTO kept VALUES(?, ?, ?)", self.new)
                there = connection.execute("SELECT uuid FROM kept").fetchall() if every is not None else []
                gone = [row for row in there if row[0] not in (every or ())]
                if gone:
                    connection.executemany("DELETE FROM kept WHERE uuid = ?", gone)

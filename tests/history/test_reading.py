# SPDX-License-Identifier: Apache-2.0
"""What is kept beside a results database: it saves reading, and changes no result."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from privileges import NOBODY, without_privileges
from sessions_made import case, database, night, nights, session

from coffeecup.postprocess.history import reading
from coffeecup.postprocess.history.reading import read_sessions
from coffeecup.postprocess.history.table import case_table, history_table, tables
from coffeecup.postprocess.sessions.files import read_reports


@pytest.fixture
def stored(tmp_path):
    effects = {"suspects": [], "confirmed": [], "values": {"n1": [0.5, None, 1, 1, 0]}}
    odd = [session([case({}, result="fail", fail_reason="no\nlog"), case({"x": (None, None)}, node_effects=effects)])]
    return database(tmp_path / "results.db", [*nights([1000.0, 900.5, 7.0], first=1), *odd])


def derived(stored):
    return stored.with_name(".results.db.derived")


def parsed_sessions(monkeypatch, stored):
    """The tables of a database, and how many of its sessions were parsed for them."""
    calls, real = [], reading.stored
    monkeypatch.setattr(reading, "stored", lambda *given: calls.append(given) or real(*given))
    found = tables(one.columns for one in read_sessions([stored]))
    monkeypatch.setattr(reading, "stored", real)
    reports = read_reports([stored])
    pd.testing.assert_frame_equal(found[0], case_table(reports))
    pd.testing.assert_frame_equal(found[1], history_table(reports))
    return len(calls)


def test_what_did_not_change_is_read_once_and_gives_the_same_tables(stored, monkeypatch):
    assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [4, 0]
    with closing(sqlite3.connect(stored)) as connection, connection:
        connection.execute("UPDATE sessions SET json_blob = replace(json_blob, '900.5', '901.5')")
        connection.executescript(
            "INSERT INTO sessions SELECT 'x', 0, 0, replace(json_blob, uuid, 'x'), '' FROM sessions LIMIT 1"
        )
    assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [2, 0]
    derived(stored).unlink()
    assert parsed_sessions(monkeypatch, stored) == 5


def test_other_code_reads_all_again(stored, monkeypatch):
    parsed_sessions(monkeypatch, stored)
    monkeypatch.setattr(reading, "code", lambda: b"another")
    assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [4, 0]


def test_a_damaged_or_foreign_file_is_ignored_and_written_anew(stored, monkeypatch):
    parsed_sessions(monkeypatch, stored)
    whole = derived(stored).read_bytes()
    for content in (b"", b"not a database", whole[: len(whole) // 2], whole[:200] + b"x" * (len(whole) - 200)):
        derived(stored).write_bytes(content)
        assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [4, 0]


def test_content_that_does_not_fit_its_hash_does_not_count(stored, monkeypatch):
    parsed_sessions(monkeypatch, stored)
    with closing(sqlite3.connect(derived(stored))) as connection, connection:
        one, other = (content for (content,) in connection.execute("SELECT content FROM kept LIMIT 2"))
        connection.execute("UPDATE kept SET content = ? WHERE content = ?", (other, one))
    assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [1, 0]


def test_where_nothing_can_be_written_all_is_read_each_time(stored, monkeypatch):
    derived(stored).mkdir()
    assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [4, 4]


def test_while_another_process_writes_it_nothing_waits(stored, monkeypatch):
    parsed_sessions(monkeypatch, stored)
    with closing(sqlite3.connect(derived(stored), isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert parsed_sessions(monkeypatch, stored) == 4
    assert parsed_sessions(monkeypatch, stored) == 0


def in_derived(stored):
    with closing(sqlite3.connect(derived(stored))) as connection:
        return {uuid for (uuid,) in connection.execute("SELECT uuid FROM kept")}


def test_what_no_longer_counts_is_removed(stored, monkeypatch):
    parsed_sessions(monkeypatch, stored)
    every = in_derived(stored)
    with closing(sqlite3.connect(stored)) as connection, connection:
        removed, changed = (uuid for (uuid,) in connection.execute("SELECT uuid FROM sessions LIMIT 2"))
        connection.execute("DELETE FROM sessions WHERE uuid = ?", (removed,))
        connection.execute("UPDATE sessions SET json_blob = json_blob || ' ' WHERE uuid = ?", (changed,))
    assert len(read_sessions([stored], since=night(2))) == 2  # of a part of them nobody knows what was removed
    assert in_derived(stored) == every
    read_sessions([stored])
    assert in_derived(stored) == every - {removed}


def test_other_code_of_any_module_is_another_hash(tmp_path, monkeypatch):
    module = tmp_path / "benchmarks/benchmark.py"
    module.parent.mkdir()
    monkeypatch.setattr(reading, "__file__", str(tmp_path / "history/reading.py"))
    hashes = []
    for text in ("STANDARD = 1", "STANDARD = 2", "STANDARD = 1"):
        module.write_text(text)
        hashes.append(reading.code.__wrapped__())
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize("mode", [0o640, 0o600])
def test_who_may_not_read_the_database_may_not_read_what_is_kept_of_it(stored, mode):
    stored.chmod(mode)
    read_sessions([stored])
    assert derived(stored).stat().st_mode & 0o777 == mode


def test_a_link_is_not_followed(stored, monkeypatch, tmp_path):
    other = tmp_path / "other.db"
    sqlite3.connect(other).close()
    derived(stored).symlink_to(other)
    assert [parsed_sessions(monkeypatch, stored) for _ in range(2)] == [4, 4]
    assert other.read_bytes() == b""


def test_a_folder_that_may_not_be_written(monkeypatch, stored):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "results.db"
        copy.write_bytes(stored.read_bytes())
        if os.geteuid() == 0:
            os.chown(copy, NOBODY, NOBODY)
        folder.chmod(0o555)
        with without_privileges():
            assert [parsed_sessions(monkeypatch, copy) for _ in range(2)] == [4, 4]
        folder.chmod(0o755)
        assert list(folder.iterdir()) == [copy]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_is_kept_belongs_to_the_owner_of_the_database(monkeypatch, stored):
    """Root creates nothing beside another's database, and nobody believes what a third user put there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        copy = folder / "results.db"
        copy.write_bytes(stored.read_bytes())
        os.chown(copy, NOBODY, NOBODY)
        assert [parsed_sessions(monkeypatch, copy) for _ in range(2)] == [4, 4]
        with without_privileges():
            assert [parsed_sessions(monkeypatch, copy) for _ in range(2)] == [4, 0]
        assert parsed_sessions(monkeypatch, copy) == 0
        os.chown(derived(copy), NOBODY - 1, NOBODY)
        assert parsed_sessions(monkeypatch, copy) == 4

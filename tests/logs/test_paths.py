# SPDX-License-Identifier: Apache-2.0
"""Files that a user names: nothing in a directory is left out silently, and nothing that never ends is read."""

import os
import tempfile
from pathlib import Path

import pytest
from privileges import without_privileges

from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.paths import files_below, regular
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.sessions.files import read_reports


@pytest.fixture
def folder():
    """Readable for all, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_files_are_those_of_all_depths_in_the_order_of_their_paths(folder):
    (folder / "b" / "c.jsonl").mkdir(parents=True)
    for name in ("z.jsonl", "b/y.jsonl", "b/c.jsonl/x.jsonl", "a.txt", ".h.jsonl"):
        (folder / name).touch()
    (folder / "dangling.jsonl").symlink_to("nowhere")
    expected = [".h.jsonl", "b/c.jsonl/x.jsonl", "b/y.jsonl", "dangling.jsonl", "z.jsonl"]
    assert [str(path.relative_to(folder)) for path in files_below(folder, "*.jsonl")] == expected
    assert files_below(folder / "a.txt", "*.jsonl") == [folder / "a.txt"]
    assert files_below(folder / ("x" * 300), "*.jsonl") == [folder / ("x" * 300)]


def test_a_directory_that_cannot_be_searched_is_an_error_and_costs_no_other_result(folder):
    (folder / "closed").mkdir()
    (folder / "closed").chmod(0o000)
    (folder / "open").mkdir()
    (folder / "open" / "session-1.json").write_text("{}")
    with without_privileges():
        if os.access(folder / "closed", os.R_OK, effective_ids=True):
            pytest.skip("this user may read every directory")
        found = files_below(folder, "*.json")
        assert found == [folder / "closed", folder / "open" / "session-1.json"]
        [closed, other] = score_logs(found)
        assert isinstance(closed, LogError) and "no permission to read it" in str(closed)
        assert isinstance(other, LogError) and "permission" not in str(other)
        with pytest.raises(LogError, match="closed: cannot be read: Permission denied"):
            read_reports([folder])


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_what_is_no_regular_file_is_not_read(path):
    with pytest.raises(OSError, match="not a regular file"):
        regular(Path(path))
    with pytest.raises(LogError, match="not a regular file"):
        read_reports([path])


def test_regular_files_and_directories_pass(folder):
    (folder / "x").touch()
    assert regular(folder / "x") == folder / "x" and regular(folder) == folder

# SPDX-License-Identifier: Apache-2.0
"""The files that `coffeecup accept` writes never replace evidence, and leave the ones before if they cannot be
written."""

import resource
import shutil

import pytest
from commands import run, said
from contracts_made import begin, clause, contract, write_contract
from evidence_made import official_session
from file_systems import memory
from logs_made import sha256
from pages import needs_browser
from test_baseline import accepted, near


@pytest.mark.parametrize(
    ("options", "file"),
    [
        (("-o", "session.html"), "session.json"),
        (("-o", "a.html", "--package", "contract.yaml"), "contract.yaml"),
        (("-o", "a.html", "--package", "contract.acceptance.jsonl"), "contract.acceptance.jsonl"),
        (("-o", "a.html", "--package", "a.json"), "a.json"),
        ((), "acceptance.json"),  # the baseline
    ],
)
def test_no_result_replaces_the_evidence_or_another_result(tmp_path, monkeypatch, options, file):
    monkeypatch.chdir(tmp_path)
    accepted(tmp_path / "first", contract(clause(floor=900)), near(1000))
    shutil.copy(tmp_path / "first" / "acceptance.json", tmp_path)
    baseline = {"file": "acceptance.json", "sha256": sha256(tmp_path / "acceptance.json"), "at_least": 0.9}
    path = write_contract(tmp_path, contract(clause(repetitions=1), baseline=baseline))
    official_session(tmp_path, begin(path), [1000])
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = run("accept", path, "session.json", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{file} is evidence or a result of this acceptance: choose another file" in said(done)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == kept


def test_a_result_that_cannot_be_written_leaves_the_one_before(tmp_path):
    """A limit of the size of files is like a full disk."""
    path = write_contract(tmp_path, contract(clause(repetitions=1)))
    words = ["accept", path, official_session(tmp_path / "1", begin(path), [1000]), "-o", tmp_path / "a.html"]
    assert run(*words).exit_code == 0
    kept = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        done = run(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.exit_code == 2 and "File too large" in said(done)
    assert {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == kept


@needs_browser
def test_a_pdf_that_cannot_be_written_leaves_the_one_before(tmp_path):
    """The page and the result take 24 kB, a PDF with its fonts more than the rest."""
    path = write_contract(tmp_path, contract(clause(repetitions=1)))
    words = ["accept", path, official_session(tmp_path / "1", begin(path), [1000]), "--pdf"]
    with memory(tmp_path / "disk", "size=48k") as disk:
        (disk / "a.pdf").write_bytes(b"before")
        done = run(*words, "-o", disk / "a.html")
        assert done.exit_code == 2 and "No space left" in said(done)
        assert (disk / "a.pdf").read_bytes() == b"before"

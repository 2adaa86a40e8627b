# SPDX-License-Identifier: Apache-2.0
"""The ledger of an acceptance: the sessions that were begun, each with its nonce, in a file beside the contract.

Each line states the contract's hash, the previous line's hash and the hash of the session that the previous line was
issued for. The nonce of a session is the hash of its line. So every log of a session, which contains the nonce, commits
to all earlier sessions, and a session that is left out is a named gap.
"""

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from coffeecup.postprocess.acceptance.contract import Contract, ContractError
from coffeecup.postprocess.acceptance.signatures import signature, signature_path
from coffeecup.postprocess.logs.paths import content, locked, regular
from coffeecup.postprocess.logs.records import Count, Sha256, Text, Time
from coffeecup.postprocess.sessions.files import SessionReport

LARGEST_LEDGER = 2**24  # byte; a session has about 500 in it
NONCE = "COFFEECUP_ACCEPTANCE"  # the environment variable by which checks and kernels get the nonce


class Line(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """`previous` is the nonce before; either `session_sha256` is the hash of the session that ran with it, or
    `abandoned` says why there is none. All three are null in the first line."""

    number: Count
    contract_sha256: Sha256
    issued: Time
    random: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    previous: Sha256 | None
    session_sha256: Sha256 | None
    abandoned: Text | None


@dataclass(frozen=True)
class Entry:
    """A session that was begun. `session_sha256` and `abandoned` are what the next entry states about it."""

    number: int
    nonce: str
    issued: datetime
    session_sha256: str | None
    abandoned: str | None


def ledger_path(contract: Path) -> Path:
    """The ledger of a contract lies beside it: NAME.acceptance.jsonl."""
    return contract.with_suffix(".acceptance.jsonl")


def read_ledger(contract: Contract) -> list[Entry]:
    """The sessions that were begun for a contract, none without a ledger. Raises ContractError if the ledger was
    altered, or belongs to another version of the contract."""
    path = ledger_path(contract.path)
    try:
        texts = content(path, LARGEST_LEDGER).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ContractError(path, f"cannot be read: {error.strerror}") from None
    lines = [checked_line(path, contract, texts, number) for number in range(len(texts))]
    following = [*lines[1:], None]
    return [
        Entry(
            line.number,
            hashlib.sha256(text).hexdigest(),
            datetime.fromisoformat(line.issued),
            after and after.session_sha256,
            after and after.abandoned,
        )
        for text, line, after in zip(texts, lines, following)
    ]


def checked_line(path: Path, contract: Contract, texts: list[bytes], place: int) -> Line:
    def wrong(problem: str) -> ContractError:
        return ContractError(path, f"{problem}; restore the ledger", place + 1)

    try:
        line = msgspec.json.decode(texts[place], type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise wrong(f"no line of a ledger: {error}") from None
    previous = hashlib.sha256(texts[place - 1]).hexdigest() if place else None
    if line.number != place + 1 or line.previous != previous:
        raise wrong("the ledger was altered: this line does not follow the one before")
    if (line.session_sha256 is None) == (line.abandoned is None) and place:
        raise wrong("either session_sha256 or abandoned is expected")
    if line.contract_sha256 != contract.sha256:
        changed = "the contract was changed after this acceptance had begun: its SHA-256 was"
        todo = "restore it, or begin a new acceptance with another file"
        text = f"{changed} {line.contract_sha256} and is now {contract.sha256}; {todo}"
        raise ContractError(path, text, place + 1)
    return line


def begin(contract: Contract, session: SessionReport | None, abandoned: str | None, key: Path | None = None) -> Entry:
    """Begins the next session: appends a line to the ledger, with the hash of the last session or the reason why there
    is none, and signs both with the key. Raises ContractError if it is unclear what became of the last one,
    SigningError, OSError if a file cannot be written; then no session has begun."""
    path = ledger_path(contract.path)
    with locked(path):
        append(path, next_line(contract, session, abandoned), session and session.source, key)
        return read_ledger(contract)[-1]


def next_line(contract: Contract, session: SessionReport | None, abandoned: str | None) -> bytes:
    """The line that begins the next session. Raises ContractError."""
    path, entries = ledger_path(contract.path), read_ledger(contract)
    last = entries[-1] if entries else None
    if last and session is None and not abandoned:
        raise ContractError(
            path,
            f"session {last.number} has begun: name its report with --after, or say with --abandoned why there is none",
        )
    if last is None and (session or abandoned):
        raise ContractError(path, "no session has begun yet: leave out --after and --abandoned")
    if last and session and last.nonce not in nonces(session):
        raise ContractError(
            session.source,
            f"it does not contain the nonce of session {last.number}: name the report of that session, or say with "
            "--abandoned why there is none",
        )
    line = Line(
        number=len(entries) + 1,
        contract_sha256=contract.sha256,
        issued=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        random=secrets.token_hex(16),
        previous=last and last.nonce,
        session_sha256=file_sha256(session.source) if session else None,
        abandoned=abandoned,
    )
    return msgspec.json.encode(line) + b"\n"


def append(path: Path, line: bytes, session: Path | None, key: Path | None) -> None:
    """Appends a line to a ledger, and signs it and the session with the key. Raises SigningError or OSError, and leaves
    the ledger as it was: its new line would be a session whose nonce nobody knows."""
    before = path.read_bytes() if path.exists() else b""
    signed = {session: session.read_bytes()} if session else {}
    signed[path] = before + line
    signatures = {file: signature(file, content, key) for file, content in signed.items()} if key else {}
    try:
        with path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        for file, content in signatures.items():
            signature_path(file).write_bytes(content)
    except OSError:
        if path.exists():
            os.truncate(path, len(before))
        raise


def nonces(report: SessionReport) -> set[str]:
    """The nonces that the checks of a session passed to their kernels, and that of the session itself."""
    cases = [case for run in report.content["runs"] for case in run["testcases"]]
    return {nonce for case in cases if (nonce := nonce_of(report, case))} | ({session_nonce(report)} - {""})


def nonce_of(report: SessionReport, case: dict) -> str:
    """The nonce that a test case passed to its kernel, or else that of its session; empty if there is none."""
    return str((case.get("env_vars") or {}).get(NONCE) or session_nonce(report))


def session_nonce(report: SessionReport) -> str:
    """The nonce that ReFrame was given with --session-extras; empty if there is none."""
    return str(report.info.get(NONCE) or "")


def gaps(entries: list[Entry], reports: list[SessionReport]) -> Iterator[str]:
    """What is missing in the sequence of sessions, one sentence each."""
    if not entries:
        yield "This acceptance was not begun with `coffeecup accept begin`: no run can be shown to belong to it."
    ran = Counter(nonce for report in reports for nonce in nonces(report))
    hashes = {nonce: file_sha256(report.source) for report in reports for nonce in nonces(report)}
    for entry in entries:
        name = f"Session {entry.number}, begun {entry.issued:%Y-%m-%d %H:%M:%S} UTC,"
        if not ran[entry.nonce] and not entry.abandoned:
            yield f"{name} is missing: evaluate all sessions of the acceptance together."
        elif ran[entry.nonce] > 1:
            yield f"{name} was run {ran[entry.nonce]} times: begin each session with `coffeecup accept begin`."
        elif ran[entry.nonce] and entry.abandoned:
            yield f"{name} was declared abandoned ({entry.abandoned}), but here it is: the ledger is wrong."
        elif entry.session_sha256 and ran[entry.nonce] and hashes[entry.nonce] != entry.session_sha256:
            changed = "was altered or replaced after the next one had begun"
            yield f"{name} {changed}: its SHA-256 was {entry.session_sha256}."


def file_sha256(path: Path) -> str:
    """The hash of a file's content, in hexadecimal digits. Raises OSError."""
    with regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

# SPDX-License-Identifier: Apache-2.0
"""The result of an acceptance: a contract, the evidence for it, and the verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from coffeecup.postprocess.acceptance.baseline import BaselineError, compare, read_baseline
from coffeecup.postprocess.acceptance.contract import SESSION, Contract
from coffeecup.postprocess.acceptance.evaluation import (
    EvaluatedRun,
    RelationVerdict,
    Verdict,
    evaluate,
    evaluate_relation,
    overall,
)
from coffeecup.postprocess.acceptance.evidence import Run, gather
from coffeecup.postprocess.acceptance.ledger import Entry, gaps, ledger_path, read_ledger
from coffeecup.postprocess.acceptance.sentences import WEAKER
from coffeecup.postprocess.acceptance.signatures import Signature, verify
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.sessions.files import SessionReport
from coffeecup.postprocess.show.words import counted

UNSIGNED = "The evidence is unsigned, because the contract names no signers: whoever has its files can replace them."
OUTSIDE = "Read from outside the folder of the session: "
TOO_MANY = (
    "what does not count may have been slow. Name only sessions of this acceptance; if that does not help, find the "
    "causes and begin a new acceptance, whose contract may allow more (refused_runs)."
)


@dataclass(frozen=True)
class Acceptance:
    """A contract with its verdicts, the sessions that they are based on, and the command and time of the evaluation.
    `entries` are the sessions that were begun, `missing` says what is missing of them. `signatures` are those of the
    sessions' files and of the ledger, empty if the contract demands none."""

    contract: Contract
    verdicts: list[Verdict]
    sessions: list[SessionReport]
    entries: list[Entry]
    missing: list[str]
    signatures: Mapping[Path, Signature]
    relations: list[RelationVerdict]
    command: str
    made: datetime

    @property
    def notices(self) -> list[str]:
        """What limits the evidence without changing the verdict, one sentence each."""
        count = sum(clause.evidence == SESSION for clause in self.contract.clauses)
        rest = "rests" if count == 1 else "rest"
        weaker = f"{counted(count, 'clause')} {rest} on {WEAKER}." if count else ""
        return [notice for notice in (weaker, self.outside, "" if self.contract.signers else UNSIGNED) if notice]

    @property
    def outside(self) -> str:
        """Which logs do not lie with their session, as a sentence; empty if all do."""
        logs = sorted({str(run.log) for run in self.runs if run.log and run.sha256_now and run.outside})
        if not logs:
            return ""
        more = f" and {len(logs) - 1} more" if len(logs) > 1 else ""
        return f"{OUTSIDE}{logs[0]}{more}. Keep the logs with the session file."

    @property
    def evaluated(self) -> list[EvaluatedRun]:
        """Each run as often as it matches a clause."""
        return [entry for verdict in self.verdicts for entry in verdict.runs]

    @property
    def runs(self) -> list[Run]:
        """Those that match a clause, each once."""
        return list({id(entry.run): entry.run for entry in self.evaluated}.values())

    @property
    def refused(self) -> int:
        """How many runs do not count for a clause that they match."""
        return len({id(entry.run) for entry in self.evaluated if not entry.counts})

    @property
    def abandoned(self) -> int:
        return sum(entry.abandoned is not None for entry in self.entries)

    @property
    def left_out(self) -> str:
        """How many runs are refused or missing, and how many the contract allows."""
        sessions = f" and {counted(self.abandoned, 'session')} abandoned" if self.abandoned else ""
        return f"{counted(self.refused, 'run')} refused{sessions}, {self.contract.refused_runs} allowed"

    @property
    def gaps(self) -> list[str]:
        """Why the contract is not proven whatever its clauses say, one sentence each."""
        allowed = self.refused + self.abandoned <= self.contract.refused_runs
        return self.missing if allowed else [f"{self.left_out}: {TOO_MANY}", *self.missing]

    @property
    def outcome(self) -> str:
        return overall([*self.verdicts, *self.relations], self.gaps)

    @property
    def scores(self) -> list[Score]:
        """Those of all runs that match a clause and have one, each once, by time."""
        runs = sorted(self.runs, key=lambda run: run.time)
        return list({run.score.log.sha256: run.score for run in runs if run.score}.values())

    @property
    def counting(self) -> set[str]:
        """The SHA-256 of the logs that count for a clause."""
        return {entry.run.sha256_now for entry in self.evaluated if entry.counts and entry.run.sha256_now}


def accept(contract: Contract, sessions: list[SessionReport], command: str) -> Acceptance:
    """Evaluates a contract against sessions. Raises ContractError if the ledger was altered, SigningError if signatures
    cannot be verified on this machine."""
    entries, ledger = read_ledger(contract), ledger_path(contract.path)
    files = [*dict.fromkeys(report.source for report in sessions), *([ledger] if entries else [])]
    signatures = {file: verify(file, contract.signers) for file in files} if contract.signers else {}
    missing = list(gaps(entries, sessions))
    names = {report.source: f"Session {report.info['uuid']}" for report in sessions} | {ledger: "The ledger"}
    unsigned = [file for file in signatures if signatures[file].signer is None]
    missing += [f"{names[file]} does not count: {signatures[file].problem}." for file in unsigned]
    earlier = {}
    if contract.baseline:
        try:
            earlier = read_baseline(contract, contract.baseline)
        except BaselineError as error:
            missing.append(f"The baseline does not count: {error}.")
    made = datetime.now(UTC)
    runs = gather(sessions, entries, signatures, made)
    verdicts = evaluate(contract, runs)
    relations = [evaluate_relation(relation, verdicts) for relation in contract.relations]
    relations += compare(contract, verdicts, earlier)
    return Acceptance(contract, verdicts, sessions, entries, missing, signatures, relations, command, made)

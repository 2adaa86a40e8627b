# SPDX-License-Identifier: Apache-2.0
"""The result of an acceptance: a contract, the evidence for it, and the verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from postprocess.acceptance.contract import SESSION, Contract
from postprocess.acceptance.evaluation import RelationVerdict, Verdict, evaluate, evaluate_relation, overall
from postprocess.acceptance.evidence import gather
from postprocess.acceptance.ledger import Entry, gaps, ledger_path, read_ledger
from postprocess.acceptance.sentences import WEAKER
from postprocess.acceptance.signatures import Signature, verify
from postprocess.benchmarks.score import Score
from postprocess.sessions.files import SessionReport
from postprocess.show.words import counted


@dataclass(frozen=True)
class Acceptance:
    """A contract with its verdicts, the sessions that they are based on, and the command and time of the evaluation.
    `entries` are the sessions that were begun, `gaps` says what is missing of them. `signatures` are those of the
    sessions' files and of the ledger, empty if the contract demands none."""

    contract: Contract
    verdicts: list[Verdict]
    sessions: list[SessionReport]
    entries: list[Entry]
    gaps: list[str]
    signatures: Mapping[Path, Signature]
    relations: list[RelationVerdict]
    command: str
    made: datetime

    @property
    def weaker(self) -> str:
        """How many clauses rest on sessions alone, as a sentence; empty if none does."""
        count = sum(clause.evidence == SESSION for clause in self.contract.clauses)
        rest = "rests" if count == 1 else "rest"
        return f"{counted(count, 'clause')} {rest} on {WEAKER}." if count else ""

    @property
    def outcome(self) -> str:
        return overall([*self.verdicts, *self.relations], self.gaps)

    @property
    def scores(self) -> list[Score]:
        """Those of all runs that match a clause and have one, each once, by time."""
        runs = [evaluated.run for verdict in self.verdicts for evaluated in verdict.runs]
        return list(
            {run.score.log.sha256: run.score for run in sorted(runs, key=lambda run: run.time) if run.score}.values()
        )

    @property
    def counting(self) -> set[str]:
        """The SHA-256 of the logs that count for a clause."""
        return {entry.run.sha256_now for verdict in self.verdicts for entry in verdict.counting if entry.run.sha256_now}


def accept(contract: Contract, sessions: list[SessionReport], command: str) -> Acceptance:
    """Evaluates a contract against sessions. Raises ContractError if the ledger was altered, SigningError if signatures
    cannot be verified on this machine."""
    entries, ledger = read_ledger(contract), ledger_path(contract.path)
    files = [*dict.fromkeys(report.source for report in sessions), *([ledger] if entries else [])]
    signatures = {file: verify(file, contract.signers) for file in files} if contract.signers else {}
    missing = list(gaps(entries, sessions))
    if ledger in signatures and signatures[ledger].signer is None:
        missing.append(f"The ledger does not count: {signatures[ledger].problem}.")
    made = datetime.now(UTC)
    runs = gather(sessions, entries, signatures, made)
    verdicts = evaluate(contract, runs)
    relations = [evaluate_relation(relation, verdicts) for relation in contract.relations]
    return Acceptance(contract, verdicts, sessions, entries, missing, signatures, relations, command, made)

# SPDX-License-Identifier: Apache-2.0
"""`coffeecup accept`: begins the sessions of an acceptance, and evaluates a contract against them. It has no filters:
the contract states which runs count, and leaving out some would change the verdict."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.core import TyperGroup

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import (
    USAGE,
    as_usage,
    command_line,
    exit_codes,
    logs_below,
    print_result,
    writing,
)
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    from coffeecup.postprocess.acceptance.result import Acceptance


class WithDefault(TyperGroup):
    """`accept CONTRACT ...` means `accept evaluate CONTRACT ...`."""

    def parse_args(self, ctx, args):
        if args and args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            if re.fullmatch(r"\w+", args[0]) and not Path(args[0]).exists():
                words = ", ".join(self.commands)
                ctx.fail(f"no contract and no command {args[0]!r}: name a contract's file, or one of {words}")
            args = ["evaluate", *args]
        return super().parse_args(ctx, args)


SomeSources = Annotated[
    list[Path] | None,
    typer.Argument(metavar="SESSIONS...", help="Session reports (--report-file), or directories with session*.json."),
]
SignedPage = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        callback=options.can_be_written,
        help="The HTML page to sign; the result for machines goes beside it, as JSON.",
    ),
]
Package = Annotated[
    Path | None,
    typer.Option(
        "--package",
        metavar="FILE",
        callback=lambda path: path and options.can_be_written(path),
        help="Write all evidence and the results to one archive as well, a BagIt bag (.tar).",
    ),
]
Verify = Annotated[
    Path | None,
    typer.Option(
        "--verify",
        metavar="PACKAGE",
        help="Verify a package of evidence instead; CONTRACT is then your own copy, if any.",
    ),
]
Bill = Annotated[
    bool, typer.Option("--sbom", help="Write the software bill of materials as well, in CycloneDX (.cdx.json).")
]
Explain = Annotated[bool, typer.Option("--explain", help="Print the contract in sentences instead.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the runs that are missing instead, with the command for each.")
]
ContractOrNone = Annotated[
    Path | None, typer.Argument(metavar="CONTRACT", help="Contract in YAML; docs/contract.md describes it.")
]
ContractFile = Annotated[
    Path, typer.Argument(metavar="CONTRACT", help="Contract in YAML; docs/contract.md describes it.")
]


@exit_codes(
    {
        0: "all clauses passed, no session is missing, and no more runs are refused than the contract allows",
        1: "a clause failed or is not proven",
        2: USAGE + ", an invalid contract or ledger, or a package that does not prove its result",
    }
)
def evaluate(
    contract: ContractOrNone = None,
    sessions: SomeSources = None,
    output: SignedPage = Path("acceptance.html"),
    pdf: Annotated[bool, typer.Option("--pdf", help="Write the page as PDF as well; requires Chromium.")] = False,
    sbom: Bill = False,
    package: Package = None,
    verify: Verify = None,
    as_json: options.AsJson = False,
    explain: Explain = False,
    dry_run: DryRun = False,
) -> None:
    """Evaluate a contract against recorded runs and write a report to sign. Also: `accept CONTRACT SESSIONS...`."""
    from coffeecup.postprocess.acceptance import sentences
    from coffeecup.postprocess.acceptance.contract import ContractError, read_contract
    from coffeecup.postprocess.acceptance.evaluation import PASS
    from coffeecup.postprocess.acceptance.result import accept
    from coffeecup.postprocess.acceptance.signatures import SigningError
    from coffeecup.postprocess.reports import acceptance_page
    from coffeecup.postprocess.sessions.files import read_reports
    from coffeecup.postprocess.show.pdf import PdfError, browser

    if verify:
        verify_evidence(verify, contract, as_json)
    if contract is None:
        raise typer.BadParameter("name a contract, or a package of evidence (--verify)")
    if output.suffix != ".html":
        raise typer.BadParameter(f"--output must end in .html, not {printable(output.name)}")
    if not (sessions or explain or dry_run):
        raise typer.BadParameter("name the sessions to evaluate, or choose --explain or --dry-run")
    with as_usage(ContractError, LogError, PdfError, SigningError):
        agreed = read_contract(contract)
        if explain:
            typer.echo("\n".join(map(printable, sentences.explain(agreed))))
            return
        if pdf:
            browser()
        if dry_run:  # the last session is signed when the next one begins
            agreed = replace(agreed, signers=None)
        reached = accept(agreed, read_reports(sessions or []), command_line())
        if dry_run:
            show_missing(list(sentences.missing_runs(reached.verdicts)))
            return
        keep_evidence(reached, output, package)
        with writing(output):
            written = acceptance_page.write(reached, output, pdf, sbom)
        files = [*written.files, *packed(reached, written.files, package)]
    print_result(as_json, written.result, acceptance_page.terminal_text(reached))
    typer.echo(f"wrote {', '.join(printable(str(path)) for path in files)}", err=True)
    raise typer.Exit(0 if reached.outcome == PASS else 1)


def show_missing(runs: list[str]) -> None:
    from coffeecup.postprocess.acceptance.sentences import EACH_COMMAND

    typer.echo("\n".join(map(printable, runs)) or "no runs are missing")
    if runs:
        typer.echo(EACH_COMMAND, err=True)


def keep_evidence(reached: "Acceptance", page: Path, package: Path | None) -> None:
    """Raises BadParameter if an output would replace a file of the evidence or another output."""
    from coffeecup.postprocess.reports.evidence_package import payload

    results = [page.with_suffix(suffix) for suffix in (".html", ".json", ".pdf", ".cdx.json")]
    outputs = [*results, *([package] if package else [])]
    evidence = {file.resolve() for _, file in payload(reached, [])}
    for number, path in enumerate(outputs):
        if path.resolve() in evidence or path in outputs[:number]:
            name = printable(str(path))
            raise typer.BadParameter(f"{name} is evidence or a result of this acceptance: choose another file")


def packed(reached: "Acceptance", results: list[Path], package: Path | None) -> list[Path]:
    """The package of an acceptance, written if one was requested. Raises BadParameter if it cannot be written."""
    from coffeecup.postprocess.reports.evidence_package import write_package

    if package is None:
        return []
    with writing(package):
        write_package(reached, results, package)
    return [package]


def verify_evidence(package: Path, contract: Path | None, as_json: bool) -> NoReturn:
    """Verifies a package of evidence, prints its result, and exits with 0 if it passed, else with 1. Raises
    BadParameter if the package does not prove its result."""
    from coffeecup.postprocess.acceptance.contract import ContractError
    from coffeecup.postprocess.acceptance.evaluation import PASS
    from coffeecup.postprocess.acceptance.ledger import file_sha256
    from coffeecup.postprocess.acceptance.signatures import SigningError
    from coffeecup.postprocess.reports.acceptance_page import terminal_text
    from coffeecup.postprocess.reports.evidence_package import PackageError, verify_package

    with as_usage(PackageError, ContractError, LogError, SigningError, OSError):
        own = file_sha256(contract) if contract else None
        found = verify_package(package, own, command_line())
    print_result(as_json, found.stated, terminal_text(found.acceptance))
    for remark in [*found.remarks, "the package is intact and proves its result"]:
        typer.echo(printable(remark), err=True)
    raise typer.Exit(0 if found.acceptance.outcome == PASS else 1)


@exit_codes({0: "the session has begun", 2: USAGE + ", or an invalid contract or ledger"})
def begin(
    contract: ContractFile,
    after: Annotated[
        Path | None, typer.Option(metavar="SESSION", help="Report of the session that was begun last (--report-file).")
    ] = None,
    abandoned: Annotated[
        str | None, typer.Option(metavar="REASON", help="Why the session that was begun last has no report.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Sign the ledger, and the session of --after, with this SSH key."),
    ] = None,
) -> None:
    """Begin the next session of an acceptance: issue its nonce, and note it in the ledger beside the contract. Prints
    the command that sets the nonce for ReFrame."""
    from coffeecup.postprocess.acceptance.contract import SESSION, ContractError, read_contract
    from coffeecup.postprocess.acceptance.ledger import NONCE, ledger_path
    from coffeecup.postprocess.acceptance.ledger import begin as begin_session
    from coffeecup.postprocess.acceptance.signatures import SigningError
    from coffeecup.postprocess.sessions.files import SessionReport, load_report

    if after and abandoned:
        raise typer.BadParameter("--after and --abandoned exclude each other")
    with as_usage(ContractError, LogError, SigningError), writing(ledger_path(contract)):
        agreed = read_contract(contract)
        session = SessionReport(after, load_report(after)) if after else None
        entry = begin_session(agreed, session, abandoned, key)
    typer.echo(
        f"Session {entry.number} of {printable(agreed.title)} has begun. Set its nonce where ReFrame starts:", err=True
    )
    typer.echo(f"export {NONCE}={entry.nonce}")
    if any(clause.evidence == SESSION for clause in agreed.clauses):
        typer.echo(f"Tests of other suites need this option of ReFrame: --session-extras {NONCE}=${NONCE}", err=True)


@exit_codes({0: "the section was printed", 2: USAGE + ", or logs of different software"})
def software(logs: options.Logs) -> None:
    """Print a contract's section `software` that allows what these logs state: versions, and the hashes of programs and
    libraries. Use runs that you trust."""
    from coffeecup.postprocess.acceptance.terms import software_of
    from coffeecup.postprocess.benchmarks.scoring import read_log

    with as_usage(LogError):
        lines = software_of(map(read_log, logs_below(logs)))
    typer.echo("\n".join(map(printable, lines)))

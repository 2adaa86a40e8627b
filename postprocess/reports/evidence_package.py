# SPDX-License-Identifier: Apache-2.0
"""An acceptance with all its evidence as one file, a BagIt bag (RFC 8493) in a tar archive, and its verification on a
machine that has never seen the site.

Hashes alone show damage, not forgery: whoever changes a file can write its hash anew. So the contract is evaluated
again against the evidence in the package, and the result and the page have to be those that this yields.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import orjson

from coffeecup import __version__
from coffeecup.postprocess.acceptance.contract import read_contract
from coffeecup.postprocess.acceptance.evidence import located
from coffeecup.postprocess.acceptance.ledger import file_sha256, ledger_path
from coffeecup.postprocess.acceptance.result import OUTSIDE, Acceptance, accept
from coffeecup.postprocess.acceptance.signatures import signature_path
from coffeecup.postprocess.history.table import case_table
from coffeecup.postprocess.logs.paths import replaced
from coffeecup.postprocess.reports.acceptance_object import as_object
from coffeecup.postprocess.reports.acceptance_page import html, json_text
from coffeecup.postprocess.sessions.files import read_reports
from coffeecup.postprocess.show.tables import each_row

DATA, RESULT, SESSIONS = "data", "data/result", "data/sessions"
BAGIT = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
MANIFEST, TAGS = "manifest-sha256.txt", "tagmanifest-sha256.txt"
LARGEST, MOST = 2**36, 100_000  # byte in all files of a package, and files
# Fields that differ on another machine or at another time.
OF_PLACE = {"made", "coffeecup", "command", "file", "log", "software_bill"}


class PackageError(ValueError):
    """A package that proves nothing; the message is one line with the reason."""


@dataclass(frozen=True)
class Verified:
    """The contract of a package evaluated again, what the package's own result states, and what could not be
    verified, one sentence each."""

    acceptance: Acceptance
    stated: dict
    remarks: list[str]


# --- writing ----------------------------------------------------------------------------------------------------------


def write_package(acceptance: Acceptance, results: list[Path], path: Path) -> None:
    """Writes contract, ledger, signatures, signers, sessions with their logs and the `results` of an acceptance,
    in one step. Raises OSError."""
    files = dict(sorted(payload(acceptance, results)))
    manifest = "".join(f"{file_sha256(file)}  {name}\n" for name, file in files.items())
    size = sum(file.stat().st_size for file in files.values())
    info = (
        f"Bag-Software-Agent: coffeecup {__version__}\nBagging-Date: {acceptance.made:%Y-%m-%d}\n"
        f"External-Identifier: sha256:{acceptance.contract.sha256}\nPayload-Oxum: {size}.{len(files)}\n"
    )
    texts = {"bag-info.txt": info, "bagit.txt": BAGIT, MANIFEST: manifest}
    tags = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in texts.items())
    with replaced(path) as new, tarfile.open(new, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in sorted({**texts, TAGS: tags}.items()):
            member = tarfile.TarInfo(f"{path.stem}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        for name, file in files.items():
            member = tarfile.TarInfo(f"{path.stem}/{name}")
            member.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(member, content)


def payload(acceptance: Acceptance, results: list[Path]) -> Iterator[tuple[str, Path]]:
    """Each file of the package by its name there. Logs lie below their session's folder, where an evaluation looks for
    them first."""
    contract = acceptance.contract
    ledger = ledger_path(contract.path)
    named = [contract.signers, contract.baseline and contract.baseline.file]
    beside = [file for file in named if file]
    for file in (contract.path, ledger, signature_path(ledger), *beside, *map(signature_path, beside)):
        if file.is_file():
            yield f"{DATA}/{file.name}", file
    yield from ((f"{RESULT}/{file.name}", file) for file in results)
    logs = case_table(acceptance.sessions)
    for number, source in enumerate(dict.fromkeys(report.source for report in acceptance.sessions), 1):
        folder = f"{SESSIONS}/{number}"
        for file in filter(Path.is_file, (source, signature_path(source))):
            yield f"{folder}/{file.name}", file
        for row in each_row(logs[(logs["source"] == str(source)) & (logs["log"] != "")]):
            log = located(Path(row.log), source)
            if log.is_file():
                yield f"{folder}/{below(log, source.parent)}", log
    if contract.baseline:
        yield from baseline_files(contract.baseline.file)


def baseline_files(file: Path) -> Iterator[tuple[str, Path]]:
    """The evidence of the earlier acceptance, below the folder of its result as it is found there."""
    try:
        content = orjson.loads(file.read_bytes())
        runs = [run["log"] for clause in content["clauses"] for run in clause["runs"] if run["counts"] and run["log"]]
        recorded = [Path(name) for name in (*(session["file"] for session in content["sessions"]), *runs)]
    except (orjson.JSONDecodeError, LookupError, TypeError):  # no result: the acceptance is not proven, and says so
        return
    for found in dict.fromkeys(located(path, file) for path in recorded):
        if found.is_file():
            yield f"{DATA}/{below(found, file.parent)}", found


def below(file: Path, folder: Path) -> PurePosixPath:
    """The name of a file below a folder, or its whole path if it lies elsewhere: both are ends of its path."""
    inside = file.relative_to(folder) if file.is_relative_to(folder) else Path(*file.absolute().parts[1:])
    return PurePosixPath(inside.as_posix())


# --- verifying --------------------------------------------------------------------------------------------------------


def verify_package(path: Path, contract_sha256: str | None, command: str) -> Verified:
    """Evaluates the contract of a package again, which has to be the one with this hash if one is given. Raises
    PackageError unless all its files are intact and prove its result; ContractError, LogError, SigningError."""
    with TemporaryDirectory() as folder:
        bag = unpacked(path, Path(folder))
        check_manifests(bag)
        stated, page = result_of(bag)
        contract = read_contract(bag / DATA / stated["contract"]["file"])
        if contract_sha256 not in (None, contract.sha256):
            raise PackageError(f"it is about another contract: its SHA-256 is {contract.sha256}")
        found = accept(contract, read_reports([bag / SESSIONS]), command)
        if difference := next(differences(stated, orjson.loads(json_text(as_object(found)))), None):
            reasons = dict.fromkeys([*found.gaps, *(text.text for run in found.runs for text in run.refusals)])
            because = f": {'; '.join(list(reasons)[:3])}" if reasons else ""
            raise PackageError(f"its evidence does not prove its result: {difference}{because}")
        remarks = list(check_page(page, stated, found, bag))
        bill = [page.with_name(stated["software_bill"]["file"])] if stated["software_bill"] else []
        results = [page, page.with_suffix(".json"), page.with_suffix(".pdf"), *bill]
        used = {file: bag / name for name, file in payload(found, results)}
        for file in sorted(file for file in (bag / DATA).rglob("*") if file.is_file()):
            if used.get(file) != file:
                raise PackageError(f"{file.relative_to(bag)} is no part of this acceptance, or not in its place")
    return Verified(found, stated, remarks)


def unpacked(path: Path, folder: Path) -> Path:
    """The folder of the bag in an archive, which has nothing but plain files, each once and in their order."""
    try:
        with tarfile.open(path, "r:") as archive:
            members = archive.getmembers()
            names = [member.name for member in members]
            if len(members) > MOST or sum(member.size for member in members) > LARGEST:
                raise PackageError("it is too large for a package of evidence")
            if odd := [member.name for member in members if not member.isfile()]:
                raise PackageError(f"{odd[0]!r:.200} is not a plain file")
            tops = {name.partition("/")[0] for name in names}
            order = sorted(names, key=lambda name: (f"/{DATA}/" in name, name))
            if len(tops) != 1 or len(set(names)) < len(names) or names != order:
                raise PackageError("its files are not each once and in order: it was packed again by something else")
            if outside := [name for name in names if {"", ".", ".."} & {*name.split("/")}]:
                raise PackageError(f"{outside[0]!r:.200} is outside of its folder")
            for member in members:  # Debian 12's Python 3.11.2 has no filter for extractall()
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                if content := archive.extractfile(member):
                    file.write_bytes(content.read())
            check_end(path, members[-1])
    except (tarfile.TarError, EOFError) as error:
        raise PackageError(f"it is cut off, or no package of evidence: {error}") from None
    return folder / tops.pop()


def check_end(path: Path, last: tarfile.TarInfo) -> None:
    """Zeros follow the last file, as many as tar writes: some readers would go on to what is behind them."""
    end = last.offset_data + -(-last.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
    padded = -(-(end + 2 * tarfile.BLOCKSIZE) // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
    with path.open("rb") as file:
        file.seek(end)
        if path.stat().st_size != padded or any(file.read()):
            raise PackageError("it is cut off, or something follows its last file")


def check_manifests(bag: Path) -> None:
    """Whether the files are those of the manifests, with their hashes (RFC 8493, 3)."""
    for manifest, demanded in ((TAGS, {"bag-info.txt", "bagit.txt", MANIFEST}), (MANIFEST, None)):
        listed = entries_of(bag, manifest)
        there = {file.relative_to(bag).as_posix() for file in (bag / DATA).rglob("*") if file.is_file()}
        for name in sorted(listed.keys() ^ (there if demanded is None else demanded)):
            raise PackageError(f"{name} is {'missing' if name in listed else 'not in its manifest'}")
        for name, expected in listed.items():
            if not (bag / name).is_file():
                raise PackageError(f"{name} is missing")
            if file_sha256(bag / name) != expected:
                raise PackageError(f"{name} was altered: its SHA-256 is not that of {manifest}")
    if (bag / "bagit.txt").read_text(encoding="utf-8") != BAGIT:
        raise PackageError("bagit.txt states another version or encoding")


def entries_of(bag: Path, manifest: str) -> dict[str, str]:
    """The hashes of a manifest by the names of files."""
    try:
        lines = (bag / manifest).read_text(encoding="utf-8").splitlines()
        return {name: expected for expected, name in (line.split("  ", 1) for line in lines)}
    except (OSError, ValueError):
        raise PackageError(f"{manifest} is missing, or not one of BagIt") from None


def result_of(bag: Path) -> tuple[dict, Path]:
    """The result of a package, and its page."""
    try:
        [page] = (bag / RESULT).glob("*.html")
        stated = orjson.loads(page.with_suffix(".json").read_bytes())
        named = PurePosixPath(stated["contract"]["file"])
    except (OSError, ValueError, LookupError, TypeError):
        raise PackageError(f"{RESULT} does not have one page and its result as JSON") from None
    if named.name != str(named):
        raise PackageError(f"the contract {named} is outside of the package")
    return stated, page


def differences(stated, found, place: str = "") -> Iterator[str]:
    """Where two results differ, without fields and notices that depend on place and time."""
    if isinstance(stated, list) and isinstance(found, list):
        stated, found = ([each for each in part if not str(each).startswith(OUTSIDE)] for part in (stated, found))
    if isinstance(stated, dict) and isinstance(found, dict) and stated.keys() == found.keys():
        for name in stated.keys() - OF_PLACE:
            yield from differences(stated[name], found[name], f"{place}.{name}" if place else name)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for number, pair in enumerate(zip(stated, found), 1):
            yield from differences(*pair, f"{place}.{number}")
    elif stated != found:
        yield f"{place} is {found!s:.100}, and the package states {stated!s:.100}"


def check_page(page: Path, stated: dict, found: Acceptance, bag: Path) -> Iterator[str]:
    """What could not be verified. Raises PackageError if the page is not the one of this result."""
    result = page.with_suffix(".json")
    if result.read_bytes() != json_text(stated).encode():  # such as a key twice, of which readers take one or the other
        raise PackageError(f"{result.name} is not as coffeecup writes it: two readers could see different results")
    if stated["coffeecup"] != __version__:
        yield f"The page was not compared: it was written by coffeecup {stated['coffeecup']}, this is {__version__}."
    elif page.read_text(encoding="utf-8") != html(found, stated, result.name, file_sha256(result)):
        raise PackageError(f"{page.name} is not the page of the result {result.name}")
    if (bill := stated["software_bill"]) and file_sha256(bag / RESULT / bill["file"]) != bill["sha256"]:
        raise PackageError(f"{bill['file']} is not the bill that the result states")
    if bill:
        yield "The software bill was not compared: its packages are those of the machine that wrote it."
    if page.with_suffix(".pdf").is_file():
        yield "The PDF was not compared with the page: read the page."
    if found.contract.signers is None:
        yield "Nothing is signed: this shows that the files fit together, not who made them."

# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of an acceptance, in CycloneDX 1.6: the programs and libraries of the runs that count,
with the packages that installed them."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from coffeecup import __version__
from coffeecup.postprocess.acceptance.packages import DEBIAN, SPACK, Key, Package, packages_of
from coffeecup.postprocess.acceptance.result import Acceptance
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import File, Files
from coffeecup.postprocess.show.words import printable

ROLES = ("program", "library")


def software_bill(acceptance: Acceptance) -> dict:
    """The bill as plain values, with the packages that this machine knows."""
    logs = [score.log for score in acceptance.scores if score.log.sha256 in acceptance.counting]
    packages = packages_of([key_of(file) for log in logs for role in ROLES for file in of_role(log, role)])
    programs, libraries = {}, {}
    loaded: dict[str, set[str]] = defaultdict(set)
    for log in logs:
        here = {reference(file, packages[key_of(file)]) for file in of_role(log, "library")}
        for program in of_role(log, "program"):
            programs[key_of(program)] = program_component(log, program, packages[key_of(program)])
            loaded[programs[key_of(program)]["bom-ref"]] |= here
        libraries |= {key_of(file): file for file in of_role(log, "library")}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid4().urn,
        "version": 1,
        "metadata": metadata(acceptance, len(logs)),
        "components": [*programs.values(), *library_components([*libraries.values()], packages)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(others)} for ref, others in loaded.items()],
    }


def counts(bill: dict) -> dict[str, int]:
    """Programs, packages, and files without a package in a bill."""
    kinds = Counter(component["type"] for component in bill["components"])
    return {"programs": kinds["application"], "packages": kinds["library"], "files_without_package": kinds["file"]}


def of_role(log: Log, role: str) -> list[File]:
    return [file for record in log.all(Files) for file in record.files if file.role == role]


def key_of(file: File) -> Key:
    return file.path, file.sha256


def reference(file: File, owner: Package | str) -> str:
    """What identifies a component within the bill: the package, or the file if there is none."""
    return reference_of(owner) if isinstance(owner, Package) else f"file:{printable(file.path)}:{file.sha256}"


def reference_of(package: Package) -> str:
    return f"{package.manager}:{package.name}@{package.version}:{package.build}"


def library_components(libraries: list[File], packages: Mapping[Key, Package | str]) -> Iterator[dict]:
    """The packages with their files, followed by the files that belong to none."""
    files = defaultdict(list)
    for file in libraries:
        owner = packages[key_of(file)]
        files[owner if isinstance(owner, Package) else None].append(file_component(file, owner))
    alone = files.pop(None, [])
    yield from (package_component(owner, parts) for owner, parts in files.items() if owner)
    yield from alone


def metadata(acceptance: Acceptance, runs: int) -> dict:
    """What the bill is about: the acceptance and its contract, in CycloneDX."""
    contract = acceptance.contract
    facts = {"contract_sha256": contract.sha256, "runs": runs}
    return {
        "timestamp": acceptance.made.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tools": {"components": [{"type": "application", "name": "coffeecup", "version": __version__}]},
        "component": {
            "type": "platform",
            "bom-ref": "acceptance",
            "name": printable(contract.title),
            "properties": properties(facts),
        },
    }


def properties(values: Mapping[str, object]) -> list[dict]:
    """Values as properties of CycloneDX; those that are None are left out."""
    return [
        {"name": f"coffeecup:{name}", "value": printable(str(value))}
        for name, value in values.items()
        if value is not None
    ]


def program_component(log: Log, program: File, owner: Package | str) -> dict:
    build = log.run.build
    facts = {
        "path": program.path,
        "git_revision": build.git_revision,
        "source_sha256": build.source_sha256,
        "compiler": build.compiler,
        "mpi_library": log.run.mpi.library,
    }
    if isinstance(owner, Package):
        facts |= {"package": owner.name, f"{owner.manager}_build": owner.build}
    return {
        "type": "application",
        "bom-ref": reference(program, ""),
        "name": log.benchmark,
        "version": printable(log.run.kernel_version),
        **hashes(program),
        "properties": properties(facts),
    }


def file_component(file: File, owner: Package | str) -> dict:
    reason = None if isinstance(owner, Package) else owner
    return {
        "type": "file",
        "bom-ref": reference(file, ""),
        "name": printable(Path(file.path).name),
        **hashes(file),
        "properties": properties({"path": file.path, "no_package": reason}),
    }


def hashes(file: File) -> dict:
    return {"hashes": [{"alg": "SHA-256", "content": file.sha256}]} if file.sha256 else {}


def package_component(package: Package, files: list[dict]) -> dict:
    return {
        "type": "library",
        "bom-ref": reference_of(package),
        "name": package.name,
        "version": package.version,
        **({"purl": package_url(package)} if package.manager == DEBIAN else {}),
        **({"properties": properties({"spack_hash": package.build})} if package.manager == SPACK else {}),
        "components": files,
    }


def package_url(package: Package) -> str:
    """A package URL of type deb (purl-spec)."""
    name, version = (quote(part, safe=".-_~:") for part in (package.name, package.version))
    return f"pkg:deb/{package.vendor}/{name}@{version}?arch={package.build}"

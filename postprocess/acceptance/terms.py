# SPDX-License-Identifier: Apache-2.0
"""Terms of a contract that apply to every run: the period of the runs, and the software that was measured with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

import orjson

from coffeecup.postprocess.acceptance.refusal import Refusal
from coffeecup.postprocess.logs.reader import Log, LogError
from coffeecup.postprocess.logs.records import Build, Files

DIRTY = "-dirty"
LONGEST = 1000  # characters of a text in a contract


@dataclass(frozen=True)
class Terms:
    """None and empty: not demanded. `programs` are the SHA-256 of the kernels' programs by benchmark, `libraries` those
    of all libraries that may be loaded. `mpi_library` and `compiler` are beginnings of what the log states."""

    kernel_version: str | None = None
    first_day: date | None = None
    last_day: date | None = None
    git_revision: str | None = None
    source_sha256: str | None = None
    mpi_library: str | None = None
    compiler: str | None = None
    programs: Mapping[str, str] = field(default_factory=dict)
    libraries: Sequence[str] = ()


def terms_of(content: dict) -> Terms:
    """Those of a contract's content. Raises ValueError for an impossible period."""
    period, software = content.get("period", {}), content.get("software", {})
    if period and period["from"] > period["until"]:
        raise ValueError("it ends before it begins: no run can count")
    return Terms(
        kernel_version=content.get("kernel_version"),
        first_day=date.fromisoformat(period["from"]) if period else None,
        last_day=date.fromisoformat(period["until"]) if period else None,
        **software,
    )


def software_of(logs: Iterable[Log]) -> list[str]:
    """A contract's section `software` in YAML, a line each, that allows what these runs used: all hashes of libraries,
    each with its path. Raises LogError for a log that does not state its files, or that states other software than one
    before it, of which a contract allows one."""
    stated, programs, libraries = {}, {}, {}
    for log in logs:
        run, build, files = log.run, log.run.build, [file for record in log.all(Files) for file in record.files]
        programs_of_log = [file.sha256 for file in files if file.role == "program"]
        if len(programs_of_log) != 1 or any(file.sha256 is None for file in files):
            raise LogError(log.path, "it does not state the hashes of its program and of all libraries")
        own = {"source_sha256": build.source_sha256, "git_revision": build.git_revision, "compiler": build.compiler}
        own |= {"mpi_library": run.mpi.library.partition("\n")[0][:LONGEST]}
        for known, texts in ((stated, own), (programs, {run.benchmark: programs_of_log[0]})):
            for name, text in texts.items():
                if known.setdefault(name, text) != text:
                    raise LogError(log.path, f"its {name} is {text}, that of another log {known[name]}")
        libraries |= {file.sha256: file.path for file in files if file.role == "library"}
    lines = [f"  {name}: {orjson.dumps(text).decode()}" for name, text in stated.items() if text]
    lines += ["  programs:", *(f"    {name}: '{sha256}'" for name, sha256 in programs.items())]
    ordered = sorted(libraries.items(), key=lambda pair: pair[1])
    return ["software:", *lines, "  libraries:", *(f"    - '{sha256}'  # {path}" for sha256, path in ordered)]


def broken_terms(terms: Terms, log: Log) -> Iterator[Refusal]:
    """The terms that a run does not meet."""
    run, build = log.run, log.run.build
    yield from other_period(terms, datetime.fromisoformat(run.start_time).date())
    unknown = build.git_revision or "unknown"
    for key, required, stated, text in (
        ("git_revision", terms.git_revision, unknown, "it was built from revision"),
        ("source", terms.source_sha256, build.source_sha256, "it was built from sources with the SHA-256"),
        ("mpi_library", terms.mpi_library, run.mpi.library, "its MPI library is"),
        ("compiler", terms.compiler, build.compiler or "unknown", "its compiler is"),
    ):
        begins = key in ("mpi_library", "compiler")
        if required and not (str(stated).startswith(required) if begins else stated == required):
            yield Refusal(key, f"{text} {stated!s:.200}, the contract requires {required}")
    yield from other_program(terms, log)
    yield from other_libraries(terms, log)


def other_period(terms: Terms, day: date) -> Iterator[Refusal]:
    """Whether a run on this day (UTC) is outside of the contract's period."""
    if terms.first_day and terms.last_day and not terms.first_day <= day <= terms.last_day:
        yield Refusal("period", f"it ran on {day}, the contract counts runs from {terms.first_day} to {terms.last_day}")


def other_program(terms: Terms, log: Log) -> Iterator[Refusal]:
    required = terms.programs.get(log.run.benchmark)
    stated = {file.sha256 for record in log.all(Files) for file in record.files if file.role == "program"}
    if required and stated != {required}:
        yield Refusal(
            "program",
            f"the program's SHA-256 is {' and '.join(map(str, stated)) or 'unknown'}, the contract requires {required}",
        )


def other_libraries(terms: Terms, log: Log) -> Iterator[Refusal]:
    if not terms.libraries:
        return
    for record in log.all(Files):
        for file in record.files:
            if file.role == "library" and file.sha256 not in terms.libraries:
                sha256 = file.sha256 or "unknown"
                yield Refusal(
                    "library", f"it loaded {file.path:.200} with the SHA-256 {sha256}, which is not in the contract"
                )


def unknown_sources(build: Build, terms: Terms) -> Iterator[Refusal]:
    """Official evidence comes from sources that are known exactly."""
    if build.git_revision and build.git_revision.endswith(DIRTY):
        yield Refusal("revision", f"it was built from changed sources ({build.git_revision}): build a committed state")
    elif not build.git_revision and not terms.source_sha256:
        yield Refusal(
            "revision",
            "it was built from sources of unknown revision: build a Git checkout, or state source_sha256 in the "
            "contract",
        )

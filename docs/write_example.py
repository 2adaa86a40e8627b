# SPDX-License-Identifier: Apache-2.0
"""Makes the example centre: what coffeecup produces, from runs on this machine, from a real year and from made
sessions, with a page that lists every command, its exit code and its files. `make docs` publishes it:

    .venv/bin/python docs/write_example.py build/docs/example [--parts year nodes]

A command whose exit code is not one of the stated ones ends the program. Only what the page leads to is kept.
"""

import argparse
import csv
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from rich.console import Console
from rich.text import Text

from coffeecup import __version__
from coffeecup.postprocess.show.html import environment

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

import other_suite  # noqa: E402
import sessions_made  # noqa: E402
from nodes_life_made import NIGHTS, NODES, life  # noqa: E402

BIN = Path(sys.executable).parent
NIGHTS_HERE, NIGHTS_SLOWED = 8, 4  # the fewest with which a change is found
YEAR, RECORDED = ROOT / "tests" / "history" / "real_year" / "edison_mib_per_s.csv", ROOT / "tests" / "kernel_logs"
BAD, ANY = (1,), (0, 1)  # exit codes: what is planted, and what depends on the machine
SHORT = "-n '^b_eff%num_processes=2$' -S b_eff.time_budget=3 -S b_eff.memory_per_process=8MiB"
SLOWED = {"OMPI_MCA_btl": "self,tcp"}  # messages between processes of one node through the network's stack


@dataclass(frozen=True)
class Step:
    """A command of a part, what it shows and the files that it wrote."""

    says: str
    command: str
    code: int
    files: list[str]


@dataclass
class Part:
    """A folder of the example: its commands run there."""

    folder: Path
    title: str
    about: str
    kernels: Path
    steps: list[Step] = field(default_factory=list)

    @property
    def reframe(self) -> str:
        """The beginning of a command that runs checks and leaves everything in the folder."""
        return (
            f"reframe -C {ROOT}/site_configs/local/settings.py -c {ROOT}/reframe_checks -r -S builder=prebuilt "
            f"-S prebuilt_directory={self.kernels} --prefix=. --report-file=session.json"
        )

    def run(self, says: str, command: str, output: str = "", codes: tuple[int, ...] = (0,), **variables: str) -> None:
        """Runs a command of a shell and keeps what it printed in the file `output`. Exits if its exit code is none
        of `codes`."""
        before, start = self.files(), time.monotonic()
        path = os.pathsep.join([str(BIN), str(self.kernels), os.environ["PATH"]])
        colours = {"FORCE_COLOR": "1"} if output.endswith(".svg") else {"NO_COLOR": "1"}
        own = {"PATH": path, "COLUMNS": "80", "RFM_SQLITE_DB_FILE": str(self.folder / "results.db")}
        both = {"stdout": subprocess.PIPE, "stderr": None if output else subprocess.STDOUT}
        both["env"] = os.environ | own | colours | {"PYTHONUNBUFFERED": "1"} | variables
        with subprocess.Popen(["bash", "-c", command], cwd=self.folder, **both) as running:
            lines = [(time.monotonic() - start, line.decode().rstrip("\n")) for line in running.stdout]
        printed = "".join(f"{line}\n" for _, line in lines)
        if running.returncode not in codes:
            sys.exit(f"{self.folder}: {command}\nexit code {running.returncode}, not {codes}\n{printed}")
        if output:
            self.folder.joinpath(output).write_text(terminal(command, lines) if output.endswith(".svg") else printed)
        shown = " ".join([*(f"{name}={value}" for name, value in variables.items()), command])
        new = sorted(self.files() - before)
        self.steps.append(Step(says, shown.replace(f"{ROOT}/", ""), running.returncode, new))
        print(f"{self.folder.name}: {says}: {time.monotonic() - start:.0f} s", flush=True)

    def files(self) -> set[str]:
        """Those that a reader opens: not the folders of ReFrame and of the runs of a comparison."""
        names = (
            "*.html",
            "*.json",
            "*.jsonl",
            "*.txt",
            "*.csv",
            "*.xml",
            "*.yaml",
            "*.svg",
            "*.db",
            "*.tar",
            "figures/*.png",
        )
        return {str(path.relative_to(self.folder)) for name in names for path in self.folder.glob(name)}


def left(lines: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """What a terminal still shows of these lines, with their times: a progress bar returns to the begin of its line, or
    of one above, and erases it."""
    shown: list[tuple[float, str]] = []
    for seconds, line in lines:
        current = ""
        for part in line.split("\r"):
            above = part.count("\x1b[1A")
            shown = shown[: len(shown) - above]
            text = re.sub(r"\x1b\[(?:2K|1A|\?25[hl])", "", part)
            current = text if text or "\x1b[2K" in part else current
        shown.append((seconds, current))
    return shown


def terminal(command: str, lines: list[tuple[float, str]]) -> str:
    """A recorded terminal of 80 columns, or as many as a table needs, as SVG. Lines appear as they did, but after a
    second at most, unless the reader prints or wants no motion. Fonts are the reader's: rich names some that load
    from a network."""
    lines = left(lines)
    width = max(80, *(Text.from_ansi(line).cell_len for _, line in lines if len(line) < 160))
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=width, file=nowhere, force_terminal=True)
        before, shown, rows = 0.0, 0.0, []
        for seconds, line in [(0.0, f"$ {command}"), (0.0, ""), *lines]:
            text = Text.from_ansi(line)
            console.print(text)
            shown, before = shown + min(seconds - before, 1), seconds
            rows += [shown] * max(len(text.wrap(console, width)), 1)
        svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="coffeecup"), flags=re.DOTALL)
    delays = [
        f'[clip-path$="-line-{row})"] {{ animation: hide 0s {delay:.1f}s backwards }}' for row, delay in enumerate(rows)
    ]
    hidden = "@keyframes hide { from { visibility: hidden } }"
    moving = "@media screen and (prefers-reduced-motion: no-preference)"
    return svg.replace("</style>", "\n".join([hidden, f"{moving} {{", *delays, "}</style>"]), 1)


def first_run(part: Part) -> None:
    part.run(
        "What `make run` does, here with short runs",
        f"coffeecup watch stage -- {part.reframe} --mode=smoke -n '^(b_eff|b_eff_io|ftio|priomark)%' "
        "-S b_eff.memory_per_process=256MiB -S b_eff.time_budget=60 && coffeecup score output --history results.db",
        "terminal.svg",
        RFM_PERF_INFO_LEVEL="verbose",
    )
    part.run("The report", "coffeecup report output --session session.json -o report.html")
    part.run("Scores for other programs", "coffeecup score output --json", "scores.json")
    part.run("The same as a table", "coffeecup score output --csv", "scores.csv")
    part.run("A log of b_eff", "cp output/*/*/*/b_eff_*/b_eff.jsonl .")
    exported(part)


def exported(part: Part) -> None:
    part.run(
        "For CI systems and for monitoring", "coffeecup export results.db --junit junit.xml --openmetrics metrics.txt"
    )


def history(part: Part, codes: tuple[int, ...] = BAD) -> None:
    """What a history leads to; exit code 1 if an event alarms."""
    part.run("What changed", "coffeecup check-history results.db", "terminal.svg", codes=codes)
    part.run("The message for mail or chat", "coffeecup check-history results.db --notify", "message.txt", codes=codes)
    part.run("The same for other programs", "coffeecup check-history results.db --json", "changes.json", codes=codes)
    part.run("The page of the site, and its facts", "coffeecup site report results.db -o site.html --json", "site.json")
    part.run("All values", "coffeecup history results.db --csv", "history.csv")
    exported(part)


def nights(part: Part) -> None:
    run = f"{part.reframe} {SHORT}"
    part.run("Nights on this machine", f"for night in $(seq {NIGHTS_HERE}); do {run} || exit; done")
    part.run(
        "Nights after a change of a setting", f"for night in $(seq {NIGHTS_SLOWED}); do {run} || exit; done", **SLOWED
    )
    history(part, ANY)


def year(part: Part) -> None:
    """The committed medians of each day; a day is a session."""
    with YEAR.open() as file:
        days = list(csv.DictReader(file))
    sessions = []
    for day in days:
        values = {name: float(value) for name, value in day.items() if name != "day" and value}
        when = datetime.fromisoformat(day["day"]).replace(hour=2, tzinfo=UTC)
        sessions += [other_suite.session([night_of(*one) for one in values.items()], when)] if values else []
    sessions_made.database(part.folder / "results.db", sessions)
    history(part)


def night_of(name: str, value: float) -> dict:
    """The test case of a column, such as `scratch1 ior write file_per_process 2048`."""
    file_system, benchmark, operation, files, tasks = name.split()
    parameters = {"file_system": file_system, "operation": operation, "files": files}
    values = {"edison:lustre:bandwidth": [value, 0, None, None, "MiB/s", "pass"]}
    where = {"system": "edison", "partition": "lustre", "num_tasks": int(tasks), "executable": benchmark}
    return other_suite.case({}, benchmark, parameters, perfvalues=values, executable_opts=[], **where)


def nodes(part: Part) -> None:
    log = part.folder / "b_eff.jsonl"
    log.write_bytes(lzma.decompress((RECORDED / "b_eff-nodes.jsonl.xz").read_bytes()))
    part.run("Report on a recorded run", "coffeecup report b_eff.jsonl -o report.html")
    slow = [{} if number < NIGHTS // 2 else {NODES[7]: 0.6} for number in range(NIGHTS)]
    cases = [
        sessions_made.case({"b_eff": (1000.0, "MByte/s")}, processes=len(NODES), node_effects=life(speeds, seed=number))
        for number, speeds in enumerate(slow)
    ]
    made = [sessions_made.session([case], sessions_made.night(number)) for number, case in enumerate(cases)]
    sessions_made.database(part.folder / "results.db", made)
    part.run("Nodes over made sessions", "coffeecup nodes results.db --figures figures", "terminal.svg", codes=BAD)
    part.run("The same for other programs", "coffeecup nodes results.db --json", "nodes.json", codes=BAD)
    part.run("What drains the node", "coffeecup nodes results.db --format slurm", "drain.txt", codes=BAD)
    part.run("The page of the site", "coffeecup site report results.db -o site.html")


def acceptance(part: Part) -> None:
    part.folder.joinpath("contract.yaml").write_text(CONTRACT)
    begun = 'eval "$(coffeecup accept begin contract.yaml)"'
    part.run("Runs that count for the contract", f"{begun} && {part.reframe} {SHORT} --repeat=3", "reframe.txt", ANY)
    part.run(
        "The document to sign, its result for machines and the software, and a package of all evidence",
        "coffeecup accept contract.yaml session.json -o acceptance.html --sbom --package evidence.tar",
        codes=ANY,
    )
    part.run(
        "The package, verified by a third party who has the contract",
        "coffeecup accept contract.yaml --verify evidence.tar",
        "verified.txt",
        ANY,
    )


CONTRACT = re.search(
    r"^```yaml\n(contract: .*?)^```", (ROOT / "docs" / "tutorial.md").read_text(), re.MULTILINE | re.DOTALL
)[1]


def comparison(part: Part) -> None:
    part.run(
        "Two settings in turn, until it is decided",
        "coffeecup compare --arm usual= --arm tcp=OMPI_MCA_btl=self,tcp --pairs 8 --figures figures -- mpirun -n 2 "
        "b_eff --patterns ring,random --methods nonblocking --repetitions 1 --random-patterns 3 "
        "--memory-per-process 8MiB",
        "terminal.svg",
        codes=ANY,
    )


def prediction(part: Part) -> None:
    machine = "--network fat_tree --nodes 1000 --per-node 8 --nic 25GB/s --latency 1.5us --taper 1 --taper 2"
    part.run("Two offers", f"coffeecup predict {machine} --figures figures", "terminal.svg")
    part.run("The same for other programs", f"coffeecup predict {machine} --json", "predicted.json")


PARTS = {
    "run": (first_run, "A first run", "The four benchmarks on this machine."),
    "nights": (
        nights,
        "A regression on this machine",
        "Sessions of b_eff, minutes apart. Before the last ones, messages were made to use the network's stack.",
    ),
    "year": (
        year,
        "A real year",
        "Nightly I/O benchmarks of Edison (NERSC), 2017 to 2018, of G. K. Lockwood et al., A Year in the Life of a "
        "Parallel File System (SC18), in sessions of ReFrame that this example made.",
    ),
    "nodes": (
        nodes,
        "Slow nodes",
        "A recorded run of five nodes that one machine made up, and made sessions of 24 nodes.",
    ),
    "acceptance": (acceptance, "Acceptance", "The contract of the tutorial, with three runs on this machine."),
    "comparison": (comparison, "A comparison", "Two settings of the MPI library on this machine."),
    "prediction": (prediction, "A prediction", "b_eff of two offers, computed."),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--kernels", type=Path, default=ROOT / "build" / "kernels" / "install" / "bin")
    options = parser.parse_args()
    parts = []
    for name in options.parts:
        make, title, about = PARTS[name]
        folder = options.folder.resolve() / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        parts.append(Part(folder, title, about, options.kernels.resolve()))
        make(parts[-1])
        for one in folder.iterdir():
            if one.is_dir() and one.name != "figures":
                shutil.rmtree(one)
    log = options.folder / "run" / "b_eff.jsonl"
    page = (
        environment(jinja2.FileSystemLoader(ROOT / "docs"))
        .get_template("example.html.j2")
        .render(
            parts=parts,
            run=json.loads(log.read_text().partition("\n")[0]) if log.exists() else None,
            version=__version__,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M UTC}",
        )
    )
    (options.folder / "index.html").write_text(page)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What the goals of prove.py have in common: results, commands with their output in build/prove, and copies of the
tree."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build" / "prove"
TOOLS = Path(sys.executable).parent


class ProofError(Exception):
    """A goal could not be tried, with the reason."""


@dataclass(frozen=True)
class Result:
    """What a goal demands, the figure reached, and whether the goal is reached."""

    goal: str
    demanded: str
    figure: str
    reached: bool


def run(*command, log: str, check: bool = True, **more) -> int:
    """Runs a command with its output in build/prove/<log>. Raises ProofError if it fails and `check` is set."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / log
    with path.open("w", encoding="utf-8") as file:
        code = subprocess.run(
            list(map(str, command)), stdout=file, stderr=subprocess.STDOUT, check=False, **more
        ).returncode
    if check and code:
        last = (path.read_text(encoding="utf-8").strip().splitlines() or ["no output"])[-1]
        raise ProofError(f"`{' '.join(map(str, command[:3]))}` failed: {last} ({path.relative_to(ROOT)})")
    return code


def copy_of_tree(name: str) -> Path:
    """The tracked files in a folder of their own: setuptools would take stale modules from this tree's build/lib."""
    folder = OUTPUT / name
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in listed.split():
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)
    return folder

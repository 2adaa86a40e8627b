# SPDX-License-Identifier: Apache-2.0
"""Follows a page of the documentation step by step: writes the files that it shows and runs the commands that it
shows."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from builds import ROOT
from conftest import COFFEECUP

ADD_A_BENCHMARK = [ROOT / "docs" / name for name in ("add-a-benchmark.md", "add-figures-and-a-check.md")]
BLOCK = re.compile(
    r"^```(?P<kind>\S+)(?: (?P<language>\S+))?\n(?::caption: (?P<caption>\S+)\n)?(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class File:
    """A block with a caption: the file of that name."""

    path: str
    text: str

    def follow(self, folder, environment):  # noqa: ARG002
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text)


@dataclass(frozen=True)
class Command:
    """A line of a console block that begins with `$ `, and the lines of its output; `...` stands for any text."""

    text: str
    output: tuple

    def follow(self, folder, environment):
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "check": False}
        done = subprocess.run(["bash", "-c", self.text], cwd=folder, env=environment, **both)  # noqa: PLW1510
        assert done.returncode == 0, f"{self.text}\n{done.stdout}"
        pattern = ".*".join(
            r"^" + r".*".join(re.escape(part) for part in line.split("...")) + r"$" for line in self.output
        )
        assert re.search(pattern, done.stdout, re.MULTILINE | re.DOTALL), (
            f"{self.text}\nexpected:\n{self.output}\nprinted:\n{done.stdout}"
        )


def steps(*pages):
    """The files and commands of pages, in order."""
    found = []
    for block in (block for page in pages for block in BLOCK.finditer(page.read_text(encoding="utf-8"))):
        if block["caption"]:
            found.append(File(block["caption"], block["text"]))
        elif block["kind"] == "console":
            commands = re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]
            found += [Command(lines[0], tuple(lines[1:])) for lines in (command.splitlines() for command in commands)]
    return found


def follow(page, folder, environment):
    for step in steps(page):
        step.follow(folder, environment)


def environment(**more):
    """A user's environment with this Python's commands first on PATH."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RFM_", "SPACK_"))}
    path = [part for part in clean["PATH"].split(os.pathsep) if not Path(part, "spack").exists()]
    return clean | {"PATH": os.pathsep.join([str(COFFEECUP.parent), *path])} | more


def groups_of_nodes():
    """The commands of docs/compare-nodes.md that write the groups of nodes which Slurm knows."""
    text = (ROOT / "docs" / "compare-nodes.md").read_text()
    return text[text.index("    scontrol show topology") : text.index("> /centre/node-groups")]

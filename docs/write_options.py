# SPDX-License-Identifier: Apache-2.0
"""Writes docs/options.md: what each kernel and each `coffeecup` command prints with --help. `make docs` runs it:

python docs/write_options.py FOLDER_OF_KERNELS docs/options.md
"""

import subprocess
import sys
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.cli.app import app as coffeecup

HEADER = """\
# Commands and options

What the programs print with `--help`. `make docs` writes this page.

## The kernels

A kernel measures and writes a log. It does not compute scores: `coffeecup score` and `coffeecup report` do.
"""
COMMANDS = """\
## The coffeecup command

`coffeecup --install-completion` enables completion of commands, options and file names with the tab key, in bash, zsh,
fish and PowerShell; it takes effect in new shells. It adds a line to the shell's startup file. `coffeecup
--show-completion` prints the script instead.
"""


def page(kernels):
    """The text of the page, with the kernels of this folder."""
    of_kernels = [(name, of_kernel(Path(kernels, name))) for name in benchmarks()]
    words = commands(get_command(coffeecup))
    of_commands = [(" ".join(("coffeecup", *command)), of_command(command)) for command in words]
    return "\n".join([HEADER, *map(section, of_kernels), COMMANDS, *map(section, of_commands)])


def section(named):
    title, text = named
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"### {title}\n\n```text\n{lines}\n```\n"


def of_kernel(kernel):
    return subprocess.run([kernel, "--help"], capture_output=True, text=True, check=True).stdout


def of_command(words):
    options = {"prog_name": "coffeecup", "env": {"COLUMNS": "100", "TERM": "dumb"}}
    return CliRunner().invoke(coffeecup, [*words, "--help"], **options).output


def commands(command, words=()):
    """The words of every command below this one, groups left out."""
    if not hasattr(command, "commands"):
        return [words]
    return [found for name, part in command.commands.items() for found in commands(part, (*words, name))]


coffeecup.rich_markup_mode = None  # help as plain text: boxes would need the width of a terminal
if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page(sys.argv[1]), encoding="utf-8")

# SPDX-License-Identifier: Apache-2.0
"""Writes docs/options.md: what each kernel and each `coffeecup` command prints with --help. `make docs` runs it:

python docs/write_options.py FOLDER_OF_KERNELS docs/options.md
"""

import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.cli.app import app as coffeecup

HEADER = """\
# Commands and options

What the programs print with `--help`, where what several of them print is explained once. `make docs` writes this page.
"""
KERNELS = """\
## The kernels

A kernel measures and writes a log. It does not compute scores: `coffeecup score` and `coffeecup report` do.
"""
COMMANDS = """\
## The coffeecup command

`coffeecup --install-completion` enables completion of commands, options and file names with the tab key, in bash, zsh,
fish and PowerShell; it takes effect in new shells. It adds a line to the shell's startup file. `coffeecup
--show-completion` prints the script instead.

Every command exits with 2 on wrong usage, or if a file cannot be read or written.
"""


# An option or argument with its explanation, or a paragraph.
PART = re.compile(r"^  (?:-|[A-Z]+(?:\.{3})? <).*(?:\n {6,}.*)*\n?|^\w.*(?:\n\w.*)*\n\n?", re.MULTILINE)
SEVERAL = 2  # programs that have a part


def page(kernels):
    """The text of the page, with the kernels of this folder."""
    helps = {name: of_kernel(Path(kernels, name)) for name in benchmarks()}
    of_kernels = {name: text.replace(f"default: {name}.jsonl", "default: KERNEL.jsonl") for name, text in helps.items()}
    words = commands(get_command(coffeecup))
    of_commands = {" ".join(("coffeecup", *command)): of_command(command) for command in words}
    texts = (KERNELS, *sections("kernels", of_kernels), COMMANDS, *sections("commands", of_commands))
    return "\n".join([HEADER, *texts])


def sections(programs, texts):
    """A section on what several of the texts have, and one on each with the names of these options."""
    counts = Counter(part for text in texts.values() for part in dict.fromkeys(map(divided, PART.findall(text))))
    several = {}  # the more frequent one of two explanations of a name
    for part in sorted(counts, key=counts.get):
        if counts[part] >= SEVERAL:
            several[part[0] or part] = part
    shown = sorted((name, meaning) for name, meaning in several.values() if name or not meaning.endswith(":\n"))
    yield section(f"Several {programs}", "\n".join(f"{name}\n{meaning}".strip("\n") for name, meaning in shown))
    for title, text in texts.items():
        own = PART.sub(lambda part: "" if divided(part[0]) in several.values() else part[0], text)
        names = re.findall(r"^  .*?(--[\w-]+|[A-Z]+(?=(?:\.{3})? <))", "".join(PART.findall(text)), re.MULTILINE)
        here = [name for name in names if not re.search(rf"^  (?:-\w, )?{name}\b", own, re.MULTILINE)]
        yield section(title, f"{own.rstrip()}\n\nExplained above: {', '.join(here)}")


def divided(part):
    """The name of an option and its explanation, in lines, however they were aligned; of a paragraph no name."""
    if not part.startswith(" "):
        return "", part.strip() + "\n"
    name, meaning = [*re.split(r" {2,}|\n", part.strip(), maxsplit=1), ""][:2]
    meaning = re.sub(r"\n\s+(default|valid): ", r"; \1: ", meaning)
    return f"  {name}", textwrap.indent(textwrap.fill(" ".join(meaning.split()), 100), " " * 8)


def section(title, text):
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return f"### {title}\n\n```text\n{lines}\n```\n"


def of_kernel(kernel):
    return subprocess.run([kernel, "--help"], capture_output=True, text=True, check=True).stdout


def of_command(words):
    options = {"prog_name": "coffeecup", "env": {"COLUMNS": "100", "TERM": "dumb"}}
    text = CliRunner().invoke(coffeecup, [*words, "--help"], **options).output
    return re.sub(r"^  Exit codes: .*(?:\n  \w.*)*", lambda codes: exit_codes(codes[0]), text, flags=re.MULTILINE)


def exit_codes(text):
    """The paragraph without what is stated above for all commands."""
    text = re.sub(r"(; 2: wrong usage(, or a file that cannot be read or written)?)+\.", ".", " ".join(text.split()))
    text = re.sub(r"2: wrong usage, (or a file that cannot be read or written, )?(or )?", "2: also: ", text)
    return textwrap.fill(text, 80, initial_indent="  ", subsequent_indent="  ")


def commands(command, words=()):
    """The words of every command below this one, groups left out."""
    if not hasattr(command, "commands"):
        return [words]
    return [found for name, part in command.commands.items() for found in commands(part, (*words, name))]


coffeecup.rich_markup_mode = None  # help as plain text: boxes would need the width of a terminal
if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page(sys.argv[1]), encoding="utf-8")

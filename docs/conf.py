# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of these pages: `make docs` builds them, and a browser opens them without a network.

The options of the kernels and of the `coffeecup` command are not written down here: two directives ask the programs for
their --help.
"""

import subprocess
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command
from typer.testing import CliRunner

from postprocess import __version__
from postprocess.cli.app import app as coffeecup

ROOT = Path(__file__).resolve().parent.parent

project = "coffeecup"
release = __version__
copyright = "the coffeecup developers"
extensions = ["myst_parser"]
myst_heading_anchors = 3
nitpicky = True
html_theme = "furo"
html_title = f"coffeecup {release}"
html_copy_source = False
coffeecup.rich_markup_mode = None  # help as plain text: boxes would need the width of a terminal


def section(title, text):
    """A section with a literal block."""
    found = nodes.section(ids=[nodes.make_id(title)])
    found += [nodes.title(text=title), nodes.literal_block(text=text, language="text")]
    return found


class KernelOptions(SphinxDirective):
    """`{kernel-options} NAME`: what the kernel prints with --help."""

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        kernel = ROOT / self.config.kernels / name
        try:
            done = subprocess.run([kernel, "--help"], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ExtensionError(f"{kernel} --help: {error}; `make docs` builds the kernels first") from None
        return [nodes.literal_block(text=done.stdout, language="text")]


class CommandOptions(Directive):
    """`{command-options}`: what each `coffeecup` command prints with --help, a section each."""

    def run(self):
        return [section(" ".join(["coffeecup", *words]), help_of(words)) for words in commands(get_command(coffeecup))]


def commands(command, words=()):
    """The words of every command below this one, groups left out."""
    if not hasattr(command, "commands"):
        return [words]
    return [found for name, part in command.commands.items() for found in commands(part, (*words, name))]


def help_of(words):
    result = CliRunner().invoke(
        coffeecup, [*words, "--help"], prog_name="coffeecup", env={"COLUMNS": "100", "TERM": "dumb"}
    )
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def setup(app):
    app.add_config_value("kernels", "build/kernels/install/bin", "env", str)
    app.add_directive("kernel-options", KernelOptions)
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True}

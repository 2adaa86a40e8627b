# SPDX-License-Identifier: Apache-2.0
"""The command `coffeecup`, within the process of the tests."""

from functools import cache

import typer.testing
from typer.main import get_command

from coffeecup.postprocess.cli.app import app

typer.testing._get_command = cache(get_command)  # otherwise each run makes all commands anew, which takes 10 ms


def all_commands():
    """Name, as "score" or "site check", to the command of typer."""
    groups = get_command(app).commands
    within = {name: getattr(command, "commands", {"": command}) for name, command in groups.items()}
    return {f"{group} {name}".strip(): command for group, inner in within.items() for name, command in inner.items()}


def said(done):
    """The output of a command without the box around errors and its line breaks."""
    return " ".join(done.output.replace("│", " ").split())


def run(*arguments):
    return typer.testing.CliRunner().invoke(app, [str(argument) for argument in arguments])

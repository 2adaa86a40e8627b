# SPDX-License-Identifier: Apache-2.0
"""The command `coffeecup`, within the process of the tests."""

from typer.testing import CliRunner

from postprocess.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])

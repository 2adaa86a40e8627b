# SPDX-License-Identifier: Apache-2.0
"""The `coffeecup` command, a module per command; app.py puts them together."""


def main() -> None:
    from postprocess.cli.app import app

    app(prog_name="coffeecup")

# SPDX-License-Identifier: Apache-2.0
"""The `coffeecup` command, a module per command; app.py puts them together."""

import gc
import os
import sys


def main() -> None:
    """Runs the command. Exits with 2 if the standard output cannot be written."""
    # A notebook passes on the backend of its kernel, which this Python may not have. Figures are only written to files.
    os.environ.pop("MPLBACKEND", None)

    from coffeecup.postprocess.cli.app import app

    # Logs and histories are millions of objects, hardly any in cycles: looking for these took 8 % of check-history.
    gc.set_threshold(100_000)
    try:
        app(prog_name="coffeecup")
    except OSError as error:  # of the standard output, for example a full disk; the commands handle those of files
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python writes the rest, and fails again
        print(f"coffeecup: cannot write the output: {error.strerror}", file=sys.stderr)
        sys.exit(2)

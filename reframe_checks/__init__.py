# SPDX-License-Identifier: Apache-2.0
"""ReFrame checks of coffeecup, a package so that its modules can import each other wherever they are loaded from.

ReFrame loads this file before any check. If the Python lacks a required package, this stops with the command that
installs it: a check file that merely fails to import would be skipped with a warning and an exit code of zero.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

_NEEDED = ("coffeecup", "pandas", "pandera", "jsonschema_rs", "msgspec", "orjson")
_missing = [name for name in _NEEDED if find_spec(name) is None]
if _missing:
    raise SystemExit(
        f"coffeecup: the Python that runs ReFrame lacks {', '.join(_missing)}; install it with\n"
        f"    {sys.executable} -m pip install {Path(__file__).resolve().parent.parent}"
    )

from coffeecup.postprocess import reframe_version  # noqa: E402, F401

# SPDX-License-Identifier: Apache-2.0
"""The supported versions of ReFrame. Importing this module ends the program with one sentence if another one runs.

Every file of reframe_checks/ that ReFrame may load as a check imports it before all else: versions before 4.9 load each
file without its package, so that its relative imports fail.
"""

import re

import reframe

OLDEST, BEFORE = (4, 9), (5,)


def refusal(version):
    """Why this version of ReFrame, like `4.8.4` or `4.11.0-dev.2`, cannot be used; empty if it can."""
    if OLDEST <= tuple(map(int, re.findall(r"\d+", version)[:3])) < BEFORE:
        return ""
    oldest = ".".join(map(str, OLDEST))
    return (
        f"ReFrame {version or 'of unknown version'} is not supported: coffeecup needs at least {oldest} and less than "
        f"{BEFORE[0]}; install a supported version, for example with `pip install reframe-hpc~={oldest}`"
    )


if _refused := refusal(reframe.VERSION):
    raise SystemExit(f"coffeecup: {_refused}")

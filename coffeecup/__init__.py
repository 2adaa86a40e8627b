# SPDX-License-Identifier: Apache-2.0
"""coffeecup: HPC benchmarks of communication and I/O. Everything that is installed has this name in front, so that no
other package can have the same one: `coffeecup.postprocess`, `coffeecup.reframe_checks` and so on."""

from pathlib import Path

__version__ = "0.1.0"

# Its parts are in this folder where it is installed, and beside it in a checkout.
_here = Path(__file__).resolve().parent
__path__ = [str(_here if (_here / "postprocess").is_dir() else _here.parent)]

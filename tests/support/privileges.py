# SPDX-License-Identifier: Apache-2.0
"""Parts of a test that must not run as root."""

import os
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def without_privileges():
    """Root may read everything; another user may not."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)

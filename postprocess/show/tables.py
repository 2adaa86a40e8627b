# SPDX-License-Identifier: Apache-2.0
"""Rows of tables for loops."""

from collections.abc import Iterable
from typing import Any

import pandas as pd


def each_row(table: pd.DataFrame) -> Iterable[Any]:
    """Named tuples with a field per column. `Any`, because type checkers do not know the types of columns."""
    return table.itertuples()

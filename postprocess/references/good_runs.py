# SPDX-License-Identifier: Apache-2.0
"""Which runs a reference may come from: those that passed, with the newest kernel and MPI library, undisturbed.

Pure functions from the history table to tables.
"""

import pandas as pd

from coffeecup.postprocess.history.cases import FAILURES
from coffeecup.postprocess.logs.activity import DISTURBED

PLACE = ["system", "partition", "environ"]
VERSIONS = {"kernel_version": "kernel", "mpi_library": "MPI library"}

SIMULATED = "simulated"  # the qualification of a run that measured no machine

KINDS = ("failed", "versions", "disturbed", "changes")  # what is used only on request


def exclusions(table: pd.DataFrame, include: frozenset[str], new_epoch: bool) -> pd.Series:
    """Why each row of a history table is excluded, empty text for those that are used. `include` are some of KINDS. The
    runs of a new epoch may fail in comparison with the references that they replace."""
    failed = table["result"].isin(FAILURES)
    if new_epoch:
        failed &= ~table["measured"]
    reasons = pd.Series("", index=table.index)
    if "failed" not in include:
        reasons = reasons.mask(failed, "failed: " + table["reason"])
    if "versions" not in include:
        differs = other_versions(table[reasons == ""], table)
        reasons = reasons.mask((reasons == "") & differs.ne(""), differs)
    if "disturbed" not in include:
        keys = table["qualifications"].map(disturbances)
        reasons = reasons.mask((reasons == "") & keys.ne(""), "disturbed: " + keys)
    return reasons


def simulated(values: pd.DataFrame) -> bool:
    """Whether the runs were simulated. Raises ValueError if only some were: the two do not mix."""
    found = ("," + values["qualifications"] + ",").str.contains(f",{SIMULATED},", regex=False)
    if found.nunique() > 1:
        raise ValueError("some sessions measured and others simulated, and references are of one kind: name the files")
    return bool(found.any())


def disturbances(qualifications: str) -> str:
    """Those of a run's qualifications which state that others disturbed it."""
    return ", ".join(sorted(DISTURBED & set(qualifications.split(","))))


def other_versions(good: pd.DataFrame, table: pd.DataFrame) -> pd.Series:
    """For each row of the table, the versions that differ from those of the newest good run in its place."""
    newest = good.sort_values("time", kind="stable").groupby(PLACE)[list(VERSIONS)].last()
    wanted = table[PLACE].merge(newest.reset_index(), on=PLACE, how="left").set_index(table.index)
    differs = pd.Series("", index=table.index)
    for column, word in VERSIONS.items():
        other = wanted[column].notna() & (table[column] != wanted[column])
        text = f"{word} " + table[column] + ", the newest is " + wanted[column].fillna("")
        differs = differs.mask(other & differs.eq(""), text)
    return differs

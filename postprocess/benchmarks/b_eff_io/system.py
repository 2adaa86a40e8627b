# SPDX-License-Identifier: Apache-2.0
"""The value of a system that was measured by several jobs. By the paper's section 5.1, "the b_eff_io of a system is the
maximum over any b_eff_io of a partition", whether the partitions belong to one job or to several."""

import pandas as pd

from postprocess.benchmarks.score import Score
from postprocess.show.words import counted, digits, size

VALUES = ["b_eff_io", "b_eff_io_2_1", "b_eff_io_0_5"]


def system_values(scores: list[Score]) -> pd.DataFrame:
    """A row per file system and standing ("official", "not official", "simulated"), because these are never mixed.

    `jobs` is the number of `scores`, all of b_eff_io, that enter the row. Each of the three reductions is the largest
    value of these jobs in MByte/s, NaN if no job defines it; `processes` and `log` are the partition and the log of the
    largest value by the paper's reduction or, where no job has that, by release 2.1. File systems are distinguished by
    type and size, because a log contains no more about them.
    """
    table = pd.DataFrame(
        [
            {
                "type": score.log.run["filesystem"]["type"],
                "total_bytes": score.log.run["filesystem"]["total_bytes"],
                "standing": score.standing,
                "processes": int(score.metrics["best_partition"].value),
                "log": str(score.log.path),
                **{name: score.metrics[name].value if name in score.metrics else float("nan") for name in VALUES},
            }
            for score in scores
        ]
    )
    keys = ["type", "total_bytes", "standing"]
    ranked = (
        table["b_eff_io"]
        .fillna(table["b_eff_io_2_1"])
        .where(table["b_eff_io"].notna() | table.groupby(keys)["b_eff_io"].transform("max").isna())
    )
    best = table.loc[ranked.groupby([table[key] for key in keys]).idxmax()].set_index(keys)[["processes", "log"]]
    groups = table.groupby(keys)
    return groups[VALUES].max().assign(jobs=groups.size()).join(best).reset_index()


def together(scores: list[Score]) -> list[str]:
    """A sentence for each row of system_values that more than one job made."""
    return [
        f"System value over {counted(row['jobs'], 'job')} on {row['type']} of {size(row['total_bytes'])}, "
        f"{row['standing']}: "
        f"{digits(row['b_eff_io'] if pd.notna(row['b_eff_io']) else row['b_eff_io_2_1'])} MByte/s"
        f"{'' if pd.notna(row['b_eff_io']) else ' (release 2.1)'}, by {counted(row['processes'], 'process')}."
        for _, row in system_values(scores).query("jobs > 1").iterrows()
    ]

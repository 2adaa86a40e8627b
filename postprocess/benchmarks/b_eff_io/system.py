# SPDX-License-Identifier: Apache-2.0
"""The value of a system that was measured by several jobs. By the paper's section 5.1, "the b_eff_io of a system is the
maximum over any b_eff_io of a partition", whether the partitions belong to one job or to several."""

from collections import defaultdict
from dataclasses import dataclass

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.logs.records import Filesystem
from coffeecup.postprocess.show.words import counted, digits, size

VALUES = ("b_eff_io", "b_eff_io_2_1", "b_eff_io_0_5")


@dataclass(frozen=True)
class SystemValue:
    """The jobs on one file system and with one standing ("official", "not official", "simulated"), because these are
    never mixed. File systems are distinguished by type, server or mount point, and size.

    `values` has the largest value of these jobs in MByte/s for each of the three reductions that any of them defines.
    `best` is the job with the largest value by the paper's reduction or, if no job has that, by release 2.1.
    """

    filesystem: Filesystem
    jobs: int
    values: dict[str, float]
    best: Score

    @property
    def processes(self) -> int:
        """Of the partition with the largest value."""
        return int(self.best.metrics["best_partition"].value)


def of_filesystem(filesystem: Filesystem) -> str:
    """The file system under test and its size."""
    return f"{filesystem.name} of {size(filesystem.total_bytes)}"


def system_values(scores: list[Score]) -> list[SystemValue]:
    """A value per file system and standing; all scores are of b_eff_io."""
    groups = defaultdict(list)
    for score in (score for score in scores if VALUES[1] in score.metrics):
        filesystem = score.log.run.tested_filesystem
        groups[filesystem.name, filesystem.total_bytes, score.standing].append(score)
    return [system_value(alike) for _, alike in sorted(groups.items())]


def system_value(alike: list[Score]) -> SystemValue:
    values = {
        name: max(score.metrics[name].value for score in alike if name in score.metrics)
        for name in VALUES
        if any(name in score.metrics for score in alike)
    }
    ranking = "b_eff_io" if "b_eff_io" in values else "b_eff_io_2_1"
    best = next(
        score for score in alike if ranking in score.metrics and score.metrics[ranking].value == values[ranking]
    )
    return SystemValue(best.log.run.tested_filesystem, len(alike), values, best)


def together(scores: list[Score]) -> list[str]:
    """A sentence for each system value that more than one job made."""
    return [
        f"System value over {counted(system.jobs, 'job')} on {of_filesystem(system.filesystem)}, "
        f"{system.best.standing}: "
        f"{digits(system.values.get('b_eff_io', system.values['b_eff_io_2_1']))} MByte/s"
        f"{'' if 'b_eff_io' in system.values else ' (release 2.1)'}, by {counted(system.processes, 'process')}."
        for system in system_values(scores)
        if system.jobs > 1
    ]

# SPDX-License-Identifier: Apache-2.0
"""A run of b_eff and what a design predicts for that very run: its processes, their places, its random patterns and its
longest message."""

from dataclasses import replace
from typing import cast

import pandas as pd

from coffeecup.postprocess.benchmarks.b_eff import reduction
from coffeecup.postprocess.benchmarks.b_eff.prediction.calibration import calibrate, in_host_memory
from coffeecup.postprocess.benchmarks.b_eff.prediction.exchange import Places, logged
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import Model, prediction
from coffeecup.postprocess.benchmarks.b_eff.records import Plan
from coffeecup.postprocess.benchmarks.predicted import Comparison, PredictionError
from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.designs.design import Machine
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.show.words import counted


def compare(machine: Machine, log: Log[Plan], score: Score, logs: list[Log[Plan]]) -> Comparison:
    """The comparison with one design; `logs` calibrate it. Raises PredictionError if the run does not fit on the
    machine."""
    log = in_host_memory(log)
    run, plan = log.run, log.plan
    own = replace(
        machine,
        memory_per_process=run.memory_per_process_bytes,
        assumed=tuple(each for each in machine.assumed if not each.startswith("memory_per_process")),
    )
    model = Model(
        own,
        run.ranks,
        calibrate(own, logs),
        plan.random_patterns,
        plan.seed,
        _places(machine, log),
        plan.l_max_bytes,  # another kind of memory in the same run may have less
    )
    predicted = prediction(model)
    best = reduction.best_bandwidth(reduction.measurement_table([log]))
    at_l_max = cast(pd.Series, best.droplevel(["log", "group"]).xs(plan.l_max_bytes, level="message_bytes"))
    random = reduction.group_bandwidth_at_l_max(best).droplevel("log")["random"] / run.ranks
    values = {name: metric.value for name, metric in score.metrics.items() if name in predicted.metrics}
    ping_pong = {"ping-pong": values["ping_pong_bandwidth"]} if "ping_pong_bandwidth" in values else {}
    return Comparison(
        str(log.path),
        predicted,
        values | {"b_eff_at_l_max_random_per_process": float(random)},
        {str(pattern): float(value) for pattern, value in at_l_max.items()} | ping_pong,
        run.simulated,
    )


def _places(machine: Machine, log: Log[Plan]) -> Places | None:
    """Those of the log. Of a simulated one those of the design: a host of a platform may be a process or a node."""
    hosts, design = log.run.hosts, machine.design
    if log.run.simulated:
        if log.run.ranks > design.processes:
            raise PredictionError(f"the run has {log.run.ranks} processes, the design {design.processes}")
        return None
    if len(hosts) > design.nodes:
        raise PredictionError(f"the run has {counted(len(hosts), 'node')}, the design {design.nodes}")
    if (most := max(len(host.ranks) for host in hosts)) > design.per_node:
        raise PredictionError(f"the run has {counted(most, 'process')} on a node, the design {design.per_node}")
    return logged(machine, log)

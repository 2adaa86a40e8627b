# SPDX-License-Identifier: Apache-2.0
"""What b_eff offers beyond the functions of every benchmark."""

from postprocess.benchmarks.b_eff.nodes.examination import examination, examination_of_unscored
from postprocess.benchmarks.b_eff.prediction.comparison import compare
from postprocess.benchmarks.b_eff.prediction.model import predict
from postprocess.benchmarks.b_eff.reduction import moved_bytes, with_balance_factor
from postprocess.benchmarks.benchmark import Functions

FUNCTIONS = Functions(
    balance_factor=with_balance_factor,
    prediction=predict,
    comparison=compare,
    nodes=examination,
    nodes_of_unscored=examination_of_unscored,
    moved_bytes=moved_bytes,
)

# SPDX-License-Identifier: Apache-2.0
"""What b_eff offers for described machines."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Door
from coffeecup.postprocess.benchmarks.b_eff.prediction.comparison import compare
from coffeecup.postprocess.benchmarks.b_eff.prediction.model import predict

DOOR = Door(functions={"prediction": predict, "comparison": compare})

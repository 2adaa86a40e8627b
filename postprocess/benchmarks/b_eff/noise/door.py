# SPDX-License-Identifier: Apache-2.0
"""What the core of b_eff asks for of noise."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Door
from coffeecup.postprocess.benchmarks.b_eff.noise.qualifications import checks

DOOR = Door(checks=checks)

# SPDX-License-Identifier: Apache-2.0
"""What b_eff offers beyond the functions of every benchmark."""

from coffeecup.postprocess.benchmarks.b_eff.parts import doors
from coffeecup.postprocess.benchmarks.b_eff.reduction import with_balance_factor
from coffeecup.postprocess.benchmarks.benchmark import Functions

FUNCTIONS = Functions(
    balance_factor=with_balance_factor,
    size_column="message_bytes",
    **{name: function for door in doors().values() for name, function in door.functions.items()},
)

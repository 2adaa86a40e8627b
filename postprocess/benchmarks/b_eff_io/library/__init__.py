# SPDX-License-Identifier: Apache-2.0
"""The optional part of b_eff_io that accesses its files through a library (--interface), and what it adds to the
benchmark. The core asks functions of door.py."""

from coffeecup.postprocess.benchmarks.benchmark import Better, MetricKind

OPTION = "interface"
TYPES = ("scatter", "segmented", "segmented-collective")
USES = frozenset({"priomark"})  # whose interfaces the kernel loads
RULES = {"interface": "through an interface"}
INVARIANTS = {
    "interfaces": "with `interface`, types 0, 3 and 4 alone are planned, its two interfaces loaded, none for `mpi-io`",
}
_LABELS = {
    "library_bandwidth": "mean over access methods and types, through the interface",
    "library_write": "initial write, mean over the types, through the interface",
    "library_rewrite": "rewrite, mean over the types, through the interface",
    "library_read": "read, mean over the types, through the interface",
    "library_scatter": "type 0, through the interface",
    "library_segmented": "type 3, through the interface",
    "library_segmented_collective": "type 4, through the interface",
}
METRICS = tuple(MetricKind(name, "MByte/s", Better.HIGHER, label) for name, label in _LABELS.items())

# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of b_eff_io: the names of problems in its rules, and the table of docs/log.md."""

from coffeecup.postprocess.benchmarks.b_eff_io import library

INVARIANTS = {
    "all_methods": "all three access methods are planned",
    "all_types": "the five types are planned",
    **library.INVARIANTS,
    "partitions": "the partitions ascend and have no more processes than the run",
    "planned": (
        "access methods are in the order of measuring; types and patterns are those of the paper's table 2 and the "
        "random types; partitions, times and sizes follow from options, form and hosts, bytes of measurements from "
        "calls, times L, those of types and files from the measurements, segments from the alignment as well"
    ),
    "calls": "the calls of the first, the last and all processes are possible together",
    "process_calls": (
        "the calls of the processes are those of the measurement: their minimum and, except of nodes, maximum and sum"
    ),
    "written_calls": "no pass has more calls than the write pass; fewer only if the time was over",
    "ended_by": "the end of a pattern follows from its calls, the space limit and those of the write pass",
    "size_driven": (
        "the calls of types 3 and 4 and of the random types follow from those of types 0 to 2 and from the space limit"
    ),
    "fill_up": "the call that fills up a segment has the size that these calls leave",
    "agreements": (
        "only collective patterns that are driven by time agree: at least twice, at most once more than they have "
        "calls, and after each call if so planned"
    ),
    "agreement_seconds": "without agreements, they take no time",
    "mpi_io": "the component of MPI-IO is stated before the first measurement",
    "cached": "what remained in caches is stated for reads after an eviction",
    "hints": "a measurement has no hints of its own without a file of hints",
    "parts": "no part of a measurement takes longer than the whole, no fastest process longer than the slowest",
    "whole": (
        "a measurement does not take longer than its parts together (5 %, and 5 s for a process that loses its core)"
    ),
    "sync": "reads do not write to disk",
    "type_time": "the time of a type is that of opening, its measurements and closing",
}

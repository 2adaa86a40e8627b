# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of b_eff_io: the names of problems in its rules, and the table of docs/log.md."""

INVARIANTS = {
    "all_methods": "all three access methods are planned, in the order of measuring",
    "methods": "all three access methods are planned, in the order of measuring",
    "all_types": "the five types are planned",
    "types": "number and properties of each type are those of the definition",
    "patterns": "the patterns are those of the paper's table 2 for `m_part_bytes`, and of the random types",
    "partitions": "the partitions ascend, have no more processes than the run, and are those of the option",
    "scheduled": "the scheduled time is that of the option or of the form",
    "node_memory": "`node_memory_bytes` is the memory of the host with the least, or what the option gives",
    "m_part": "`m_part_bytes` follows from it, or is the option",
    "space_limit": "`space_limit_bytes` is the option, or 90 % of the free space",
    "planned_sizes": "type, l and L of a measurement are planned, and the same in all passes",
    "scheduled_share": "a measurement's time is T / 3 * units / 64",
    "calls": "the calls of the first, the last and all processes are possible together",
    "process_calls": (
        "the calls of the processes are those of the measurement: their minimum and, except of nodes, maximum and sum"
    ),
    "bytes": "bytes are calls times L",
    "written_calls": "no pass has more calls than the write pass; fewer only if the time was over",
    "ended_by": "the end of a pattern follows from its calls, the space limit and those of the write pass",
    "size_driven": (
        "the calls of types 3 and 4 and of the random types follow from those of types 0 to 2 and from the space limit"
    ),
    "segment": "the size of a segment, and of the call that fills it up, follow from these calls and the alignment",
    "fill_up": "the size of a segment, and of the call that fills it up, follow from these calls and the alignment",
    "agreements": (
        "only collective patterns that are driven by time agree: at least twice, at most once more than they have "
        "calls, and after each call if so planned"
    ),
    "agreement_seconds": "without agreements, they take no time",
    "type_bytes": "the bytes of a type are those of its measurements",
    "file_bytes": "the files have the bytes that were written",
    "files": "type 2 has a file per process, the others one",
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

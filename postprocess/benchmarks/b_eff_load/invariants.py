# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of b_eff_load: the names of problems in its rules, and the table of docs/log.md."""

INVARIANTS = {
    "no_file_system": "without the load `io`, the log states no file system and no directory",
    "planned": (
        "victims are the nodes that follow from the seed and the share; senders, root and sizes of the load are those "
        "of its kind"
    ),
    "averaged_loops": "a repetition is complete",
    "load": (
        "kinds of load are in the order of the option `kinds`; `io` has a directory; the averaged patterns are "
        "planned with one method, in memory of the host"
    ),
    "victims": "there are two victims at least, and two other nodes",
    "exchanges": (
        "exactly the loops at the shortest and the longest length have the times of their exchanges, trials have none"
    ),
    "exchange_sum": "the times of the exchanges sum up to those of the loop on the processes",
    "no_load": "a load has moved something in every phase",
    "load_bytes": (
        "a load moves whole messages; `io` writes and reads whole files, the same number, one at least on each "
        "process, and no more were cached than read"
    ),
    "load_time": "a load lasts as long as the loops of its phase",
    "senders": "no more processes completed nothing than generated the load",
}

# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of b_eff_io_load: the names of problems in its rules, and the table of docs/log.md."""

INVARIANTS = {
    "load": "kinds of load are in the order of the option `kinds`",
    "victims": "there is one victim at least, and another node",
    "planned": (
        "victims are the nodes that follow from the seed and the share; patterns 3, 19 and 20 are measured; time, "
        "space, calls and bytes of a pass follow from the options and the last trial of its pattern; all processes of "
        "the other nodes generate the load"
    ),
    "cached": "what remained in caches is stated for reads",
    "access_sum": "the times of the accesses sum up to those of the pass on the processes",
    "no_load": "a load has moved something in every phase",
    "load_bytes": (
        "a load only reads, or only writes, whole chunks of 1 MiB, one at least on each process, and no more were "
        "cached than read"
    ),
    "load_time": "a load lasts as long as the passes of its phase",
}

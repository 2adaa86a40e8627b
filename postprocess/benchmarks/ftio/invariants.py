# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of FTIO: the names of problems in rules.py, and the table of docs/log.md."""

INVARIANTS = {
    "places": "`start` follows `files`",
    "input": "the number of processes divides the square of the input parameter",
    "planned": (
        "input parameter, matrix, Squares, stages and activities are those of the option and the definition; every "
        "stage moves the matrix once, the exchange all Squares but those that stay; `nominal_flops` is 5 N log2 N for"
        " 2 N transforms, `tolerated_relative_difference` 4 epsilon N^2"
    ),
    "direct": "only `posix` is direct",
    "calls": (
        "the calls follow from the sizes; a read or write may take more of them if the system transfers less than "
        "requested"
    ),
    "mean": "the mean over the processes is possible with the fastest and the slowest",
    "each_process": "a repetition has a time for each process",
    "sums": "the times of all processes together are those of their phases; the whole computation may take 2 % longer",
    "together": (
        "the processes, which begin and end a repetition at barriers, agree on its duration within 2 % and 0.2 s"
    ),
    "processes": "the time of each process is between the sums of the fastest and of the slowest phases",
    "process_mean": "the times of the processes in an activity have the mean of its measurement",
    "process_sums": (
        "the times of a process in its phases are together its `io_seconds` and `transform_io_seconds`; those of a "
        "node are at least those of each of its processes"
    ),
    "verification": "the result is correct",
    "differences": "the largest difference is not larger than all together",
    "counters": "a counter has a value or a reason to have none",
    "resident": "the largest memory of a process does not shrink",
}

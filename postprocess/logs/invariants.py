# SPDX-License-Identifier: Apache-2.0
"""What has to agree in every log, and in those of benchmarks that do I/O or have histograms of times: the names of
problems in this folder, and the tables of docs/log.md."""

EVERY = {
    "size": "a log has at most 1 GiB, a line at most 64 MiB",
    "record": (
        "every line is UTF-8 and JSON, and fits the class of its record: no unknown or missing field, integers are "
        "written as integers, numbers are finite and in their range"
    ),
    "keys": "no key occurs twice in an object",
    "sequence": "the records are numbered 0, 1, 2, ...",
    "lines": "the last line ends with a newline",
    "kinds": "the first record is `run`, the second `plan`, the last `end`, each once",
    "count": "`end.records` is the number of lines",
    "complete": "`end.status` is `complete`",
    "version": "the schema version and the benchmark are known",
    "end": "a complete run has an `end_time`, no reason for a failure, and no rank or host that failed",
    "single": "records that belong to every log of a benchmark occur once; `files` and `clocks` never in simulations",
    "preloaded": "`provenance.preloaded` is a list, and null in simulations",
    "places": (
        "`overhead` is the third record, `files` the fourth; `data_check` and `memory_fill`, then `clocks`, then "
        "`counters`, then `activity`, then `overlap` precede `end`"
    ),
    "ranks": "the ranks of the hosts are 0 to `ranks` - 1, each once",
    "ranks_in_order": "hosts are in the order of their lowest ranks, and ranks ascend on each host",
    "cores": "`cores` of a host is the number of different processors in its `core_sets`",
    "offered_cores": "a host offers at least the processors that its ranks may use",
    "binding": "`binding_cores_min` and `binding_cores_max` are the smallest and the largest of the core sets",
    "memory_source": "the source is `option` exactly if the option `memory-per-process` is set",
    "memory": "`memory_per_process_bytes` is that of the host with the least, or the option",
    "activity": "at most one `activity` and one `overlap`; `activity.hosts` are as many as the run's hosts",
    "activity_time": "the processors' use was counted for no longer than the run took",
    "counters": (
        "one `counters` of the run, which only simulations lack; one of the idle time before it exactly if the option "
        "asks for it"
    ),
    "counters_time": "the nodes counted for no longer than the run took, and were idle for the time of the option",
    "counter_names": ("the counters are those of [this page](counter-list.md); those that no node has have no source"),
    "counter_values": (
        "`counters.hosts` are as many as the run's hosts, and each has a value for each of its sources; each source "
        "is on a node"
    ),
    "counter_largest": "no reading is above the largest value, and only counters that state one begin again",
    "activity_cores": "nobody used more processor time than `online_cores` give",
    "options": (
        "the log states exactly the options of the kernel, and those that the plan repeats are those of the plan"
    ),
    "whole_time": ("the timed parts together, with times alone that `values` state, do not take longer than the run"),
    "order": "the records of measurements are those that the plan requires, in the order of measuring",
    "planned": (
        "what the plan and the records repeat of the options, the machine, the definition and each other is the same; "
        "the table of each benchmark says what"
    ),
}

IO = {
    "file_system": "the log states the file system under test",
    "free_bytes": "no more bytes are free than the file system has",
    "mount": "the directory is below the mount point; a file system that was written to is not mounted read-only",
    "fragment_bytes": "the file system's size is a multiple of `fragment_bytes`, if it is not 2^63 - 1",
    "wrong_bytes": "no byte was read wrong",
    "read_bytes": "`data_check.read_bytes` is the sum of the measurements",
    "checked_bytes": "all bytes were checked if all were to be, otherwise those that were still in the buffers",
    "read_shift": (
        "plan and option agree; the shift is possible with the hosts, and is by `node` if there are several"
    ),
    "process_resolution": "times are those of nodes if there are more than 4096 processes, otherwise of processes",
    "process_values": "a list has a value of each process, or node, that takes part",
    "process_slowest": "the longest of these times is that of the measurement's slowest process",
    "process_fastest": "the shortest of the times of processes is that of its fastest process",
    "layout": (
        "files have servers only [where each process has its own](#servers-of-files); each process of the "
        "run, or of its partition, has one, and they are numbered in the order of the processes"
    ),
    "striping": (
        "a file that processes share is striped in one way, and processes' own files in no more ways than there are "
        "files; only cases without files have none; only a shared file has its `server` here; a file is on "
        "at most twice as many servers as its parts have stripes"
    ),
    "memory_fill": (
        "plan, option and record agree; each host was filled by this share, and no more was resident; the record is at "
        "the place where the benchmark releases the memory, before or after `data_check`"
    ),
    "latency_calls": "the bins of a histogram contain as many calls as were made",
    "bins": "bins ascend and do not overlap",
    "bin_widths": "no bin is wider than `latency_relative_error` states",
    "extremes": "the shortest and the longest call are in the outermost bins",
    "latency_sum": "the sum of the calls' times is possible with the bins",
}

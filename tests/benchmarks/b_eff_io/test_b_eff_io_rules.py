# SPDX-License-Identifier: Apache-2.0
"""Rules of b_eff_io on the calls of single patterns: limits from both sides, and answers by hand. test_rule_limits.py
has those on whole logs."""

from dataclasses import replace
from types import SimpleNamespace

import logs_made
import pytest
from logs_made import GIB, MIB
from logs_made_b_eff_io import b_eff_io_log
from msgspec.structs import replace as but
from scores import names

from coffeecup.postprocess.benchmarks.b_eff_io import passes, qualifications, rules
from coffeecup.postprocess.benchmarks.b_eff_io.definition import calls_in_buffer, default_partitions
from coffeecup.postprocess.benchmarks.b_eff_io.records import Measurement
from coffeecup.postprocess.benchmarks.scoring import read_log


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A small sound log."""
    records = b_eff_io_log(ranks=4, partitions=(2, 4), scheduled=9.0)
    return read_log(logs_made.write(tmp_path_factory.mktemp("log") / "log.jsonl", records))


@pytest.mark.parametrize(
    ("interface", "loaded", "problems"),
    [
        ("hdf5", ["hdf5", "hdf5-collective"], []),
        ("/opt/own", ["own", "own-collective"], []),
        ("mpi-io", [], []),
        ("mpi-io", ["hdf5", "hdf5-collective"], ["interfaces"]),
        ("hdf5", ["hdf5"], ["interfaces"]),
        ("hdf5", [], ["interfaces"]),
    ],
)
def test_the_loaded_interfaces_are_those_of_the_option(tmp_path, interface, loaded, problems):
    run, plan, *others = b_eff_io_log(ranks=4, partitions=(4,), scheduled=9.0, interface="hdf5")
    plan["interfaces"] = [plan["interfaces"][0] | {"name": name} for name in loaded]
    run["options"]["interface"] = interface
    log = read_log(logs_made.write(tmp_path / "log.jsonl", [run, plan, *others]))
    assert names(rules.problems(log)) == problems


def accessed(log, partition=4, kind="separate", calls=(1, 3, 8), **more):
    record = next(found for found in log.all(Measurement) if found.type == kind and found.method == "write")
    fewest, most, together = calls
    made = {"calls_min": fewest, "calls_max": most, "calls_sum": together, "bytes": together * record.call_bytes}
    return but(record, partition=partition, **made | more)


@pytest.mark.parametrize(
    ("partition", "kind", "sound", "unsound"),
    [
        (4, "separate", [(1, 3, 6), (1, 3, 10)], [(1, 3, 5), (1, 3, 11)]),  # 1 + 3 and twice 1, and twice 3
        (2, "separate", [(1, 3, 4)], [(1, 3, 5), (1, 3, 3)]),
        (1, "separate", [(3, 3, 3)], [(3, 3, 6), (2, 3, 3)]),
        (4, "shared", [(2, 2, 8)], [(1, 3, 8)]),  # all processes make the same calls together
    ],
)
def test_the_calls_of_all_processes_lie_between_those_of_the_fewest_and_the_most(log, partition, kind, sound, unsound):
    records = [accessed(log, partition, kind, calls) for calls in sound + unsound]
    found = [names(passes.problems_of_calls(record, record)) for record in records]
    assert found == [[]] * len(sound) + [["calls"]] * len(unsound)


@pytest.mark.parametrize(
    ("calls", "ended_by", "sound"),
    [
        ((2, 2, 8), "count", True),
        ((1, 2, 7), "time", True),
        ((1, 2, 7), "overrun", True),
        ((1, 2, 7), "count", False),
        ((2, 3, 9), "time", False),
    ],
)
def test_no_process_reads_more_than_it_wrote_and_less_only_where_time_was_up(log, calls, ended_by, sound):
    written, read = (accessed(log, calls=c, ended_by=ended_by) for c in ((2, 2, 8), calls))
    assert names(passes.problems_of_calls(read, written)) == ([] if sound else ["written_calls"])


@pytest.mark.parametrize(("spare", "calls"), [(128_000, 21), (127_999, 20), (134_399, 21), (134_400, 22), (0, 1)])
def test_a_pattern_has_a_call_and_its_share_of_the_space_that_is_spare(log, spare, calls):
    """Two partitions and 4 of 64 units: 1/32 of what one call of each pattern by 2 and by 4 processes leaves, in calls
    of 100 byte by two processes."""
    one_of_each = 6 * sum(entry.call_bytes or MIB for entry in log.plan.patterns)
    plan = but(log.plan, space_limit_bytes=one_of_each + spare)
    entry = next(entry for entry in plan.patterns if entry.units == 4)
    assert plan.alignment_bytes == MIB and plan.partitions == [2, 4]
    assert passes.calls_of_space(plan, entry, 100, 2) == calls


# --- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("processes", "partitions"),
    [
        (1, [1]),
        (2, [1, 2]),
        (3, [2, 3]),  # 2^0.55 and 2^1.1
        (8, [2, 4, 8]),  # 2^1.05 and 2^2.1
        (10, [2, 4, 10]),  # 2^1.16 and 2^2.3
        (24, [4, 8, 24]),  # 2^1.6 and 2^3.2
        (512, [8, 64, 512]),  # 2^3.15 and 2^6.3
    ],
)
def test_partitions_are_rounded_powers_of_two_and_all_processes(processes, partitions):
    assert default_partitions(processes) == partitions


@pytest.mark.parametrize(
    ("option", "partitions"),
    [(None, [2, 4, 8]), ("all", [8]), ("2,8", [2, 8]), ("2, 8", [2, 8]), (4, [4]), ("2,x,all", [2])],
)
def test_partitions_of_an_option(option, partitions):
    assert rules.partitions_asked_for(SimpleNamespace(options={"partitions": option}, ranks=8)) == partitions


@pytest.mark.parametrize(
    ("form", "partitions", "scheduled", "sound"),
    [
        ("standard", [2, 4], 900.0, True),
        ("standard", [2, 4], 450.0, False),
        ("top-clusters", [2, 4, 8], 600.0, True),
        ("top-clusters", [2, 4], 600.0, False),
        ("quick", [2, 4], 30.0, True),
        ("quick", [2, 4], 60.0, False),
    ],
)
def test_without_an_option_the_form_states_the_scheduled_time(log, form, partitions, scheduled, sound):
    """15 minutes, or 30 or 1 for all partitions together."""
    plan = but(log.plan, form=form, partitions=partitions, scheduled_seconds=scheduled)
    forms = {"quick": form == "quick", "top-clusters": form == "top-clusters"}
    asked = {**log.run.options, **forms, "partitions": ",".join(map(str, partitions))}
    for option in (0.0, None):
        run = but(log.run, options={**asked, "scheduled-time": option})
        assert (rules.planned(replace(log, run=run, plan=plan))["scheduled_seconds"] == scheduled) is sound


@pytest.mark.parametrize(
    ("call_bytes", "calls"), [(4099, 4096), (4096, 4099), (2**20, 16), (4099 * 4096, 1), (2**30, 1), (8394752, 2)]
)
def test_as_many_calls_are_checked_as_the_data_have_room_before_they_repeat(call_bytes, calls):
    """After 4099 * 4096 = 16 789 504 bytes."""
    assert calls_in_buffer(call_bytes) == calls


# --- what is official -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "broken"),
    [
        ({}, []),
        ({"scheduled_seconds": 899.9}, ["scheduled_time"]),
        ({"form": "top-clusters", "partitions": [1, 2, 4], "scheduled_seconds": 600.0}, []),
        ({"form": "top-clusters", "partitions": [1, 2, 4], "scheduled_seconds": 599.9}, ["scheduled_time"]),
        ({"form": "top-clusters"}, ["scheduled_time"]),  # 30 minutes, but for two partitions
        ({"m_part_bytes": 511 * MIB}, ["m_part"]),  # a 128th of 64 GiB is 512 MiB
        ({"m_part_bytes": 2 * MIB, "node_memory_bytes": 256 * MIB}, []),
    ],
)
def test_an_official_run_takes_15_minutes_a_partition_and_the_largest_chunk_of_the_rule(log, plan, broken):
    planned = but(log.plan, **{"scheduled_seconds": 900.0} | plan)
    assert [key for key, _ in qualifications.breaches(replace(log, plan=planned))] == broken


@pytest.mark.parametrize(
    ("kind", "ended_by", "broken"),
    [
        ("scatter", "space", ["space_limit"]),
        ("segmented", "overrun", ["overrun"]),
        ("scatter", "time", []),
        ("random", "space", []),  # it does not enter the score
        ("random-collective", "overrun", []),
    ],
)
def test_an_official_run_ends_no_pattern_of_the_score_early(log, kind, ended_by, broken):
    record = but(log.all(Measurement)[0], type=kind, ended_by=ended_by)
    one = replace(log, by_class={Measurement: [record]})
    assert [key for key, _ in qualifications.broken_rules_of_measurement(one)] == broken


@pytest.mark.parametrize(
    ("option", "partition", "cache"), [(None, 2, 64 * GIB), (None, 3, 128 * GIB), (None, 4, 128 * GIB), (MIB, 4, MIB)]
)
def test_the_cache_is_the_memory_of_the_nodes_that_take_part_or_that_of_the_option(log, option, partition, cache):
    """Two processes on each of two nodes with 64 GiB."""
    with_option = replace(log, plan=but(log.plan, cache_bytes=option))
    assert qualifications.cache_bytes(with_option, partition) == cache

# SPDX-License-Identifier: Apache-2.0
"""The gate between sessions and reference files, by its parts: what was compared with nothing, what no run used, and
what cannot fail."""

import pytest
from sessions_made import case, session, table_of

from coffeecup.postprocess.references.gate import matches, orphans, without_effect, without_reference

ENTRY = [1000.0, -0.1, None, "MByte/s"]
INDEX = ["$partition", "num_processes"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """b_eff on two partitions and of two sizes, b_eff_io on two file systems."""
    compared = {"b_eff": (990.0, 1000.0, -0.1, None, "MByte/s", "pass"), "ring_latency": (2.0, "us")}
    made = [case(compared), case(compared, processes=4, partition="gpu")]
    for name in ("home", "scratch"):
        place = {"file_system": name, "executable_opts": ["--directory", f"/mnt/{name}"]}
        io = {"b_eff_io": (50.0, 60.0, None, 0.1, "MByte/s", "pass")}
        made.append(case(io, benchmark="b_eff_io", **place))
    return table_of(tmp_path_factory.mktemp("table"), [session(made), session(made[:1], extra="later")])


@pytest.mark.parametrize(
    ("wanted", "value", "fits"),
    [
        ("local:.*", "local:default", True),
        ("local", "local:default", False),
        (":default", "local:default", False),
        ("local:default", "local:default", True),
        (2, 2, True),
        (2, 4, False),
        (2, 22, False),
    ],
)
def test_a_text_is_a_pattern_of_the_whole_and_a_number_is_equal(wanted, value, fits):
    assert matches(wanted, value) is fits


def test_what_was_compared_with_nothing_is_named_once(table):
    """A bound on one side is a reference."""
    assert without_reference(table) == [
        "local:default, 2, ring_latency: b_eff has no reference",
        "local:gpu, 4, ring_latency: b_eff has no reference",
    ]
    assert without_reference(table[table["metric"] != "ring_latency"]) == []


def content(**places):
    return {"b_eff": {"$index": INDEX, **{f"local:{where}": sizes for where, sizes in places.items()}}}


@pytest.mark.parametrize(
    ("places", "unused"),
    [
        ({"default": {2: {"b_eff": ENTRY}}}, []),
        ({".*": {2: {"b_eff": ENTRY}, 4: {"ring_latency": ENTRY}}}, []),
        ({"default": {4: {"b_eff": ENTRY}}}, ["local:default, 4, b_eff"]),
        ({"gpu": {2: {"b_eff": ENTRY}, 4: {"b_eff": ENTRY}}}, ["local:gpu, 2, b_eff"]),
        ({"default": {2: {"b_eff": ENTRY, "l_max": ENTRY}}}, ["local:default, 2, l_max"]),
        ({"default": {2: {"b_eff_io": ENTRY}}}, ["local:default, 2, b_eff_io"]),
        ({"def": {2: {"b_eff": ENTRY}}}, ["local:def, 2, b_eff"]),
    ],
)
def test_a_reference_that_no_run_used_is_named(table, places, unused):
    found = orphans({"b_eff": content(**places)}, table)
    assert found == [f"{key}: the reference of b_eff was not used by any run" for key in unused]


def test_references_by_file_system_belong_to_the_benchmark_of_their_file(table):
    by_file_system = {name: {2: {"b_eff_io": ENTRY}} for name in ("home", "scra.*", "archive")}
    index = ["$partition", "file_system", "num_processes"]
    file = {"b_eff_io": {"$index": index, "local:default": by_file_system}}
    assert orphans({"b_eff_io": file}, table) == [
        "local:default, archive, 2, b_eff_io: the reference of b_eff_io was not used by any run"
    ]
    assert len(orphans({"b_eff_io": file}, table[table["benchmark"] == "b_eff"])) == 3


@pytest.mark.parametrize(
    ("metric", "entry", "named"),
    [
        ("b_eff", ENTRY, False),
        ("b_eff", [1000.0, -1.0, None, "MByte/s"], True),
        ("b_eff", [1000.0, None, 0.1, "MByte/s"], True),
        ("b_eff", ["$xfail", "HPC-1", ENTRY], False),
        ("b_eff", ["$xfail", "HPC-1", [1000.0, None, None, "MByte/s"]], True),
        ("ring_latency", [2.0, None, 0.1, "us"], False),
        ("ring_latency", [2.0, -0.1, None, "us"], True),
    ],
)
def test_a_reference_that_no_bad_value_fails_is_named(table, metric, entry, named):
    found = without_effect({"b_eff": content(default={2: {metric: entry}})}, table)
    text = f"local:default, 2, {metric}: the reference of b_eff cannot fail: {entry}"
    assert found == ([text] if named else [])


@pytest.mark.parametrize(("bounds", "named"), [((-0.1, None), False), ((None, 0.1), True), ((-0.1, 0.1), False)])
def test_the_bad_side_of_a_metric_of_another_test_is_that_of_the_table(table, bounds, named):
    rows = table[table["metric"] == "b_eff"].assign(benchmark="stream", metric="triad", better="higher")
    file = {"stream": {"$index": INDEX, "local:default": {2: {"triad": [100.0, *bounds, "GB/s"]}}}}
    assert bool(without_effect({"stream": file}, rows)) is named
    assert bool(without_effect({"stream": file}, rows.assign(better="lower"))) is (bounds == (-0.1, None))


@pytest.mark.parametrize(("bounds", "named"), [((-0.1, 0.1), False), ((None, None), True)])
def test_a_reference_of_another_test_that_did_not_run_has_no_known_direction(table, bounds, named):
    file = {"stream": {"$index": INDEX, "local:default": {2: {"triad": [100.0, *bounds, "GB/s"]}}}}
    assert bool(without_effect({"stream": file}, table)) is named

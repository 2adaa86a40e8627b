# SPDX-License-Identifier: Apache-2.0
"""Which metric of runs is judged, and when a comparison is over: facts that change from run to run are no difference of
the arms, and others are not named at once."""

import logs_made
import pandas as pd
import pytest
from logs_made_b_eff import averaged_log, steady
from logs_made_b_eff_io import b_eff_io_log

from coffeecup.postprocess.comparison.arms import may_change
from coffeecup.postprocess.comparison.figures import figures, shares
from coffeecup.postprocess.comparison.plan import Arm, Plan, PlanError
from coffeecup.postprocess.comparison.result import Results
from coffeecup.postprocess.reports.comparisons import text

EVERY_FACT = {"processes", "MPI library", "option seed", "sources", "cores of a host", "environment X", "environment Y"}
ARMS = {"usual": Arm(), "other": Arm(environment={"X": "1"})}


def results(**settings):
    return Results(Plan(command=["kernel"], arms=ARMS, **settings))


def test_the_headline_of_the_runs_is_judged_if_they_lack_the_first_metric_of_the_benchmark(tmp_path):
    found = results()
    log = logs_made.write(tmp_path / "log.jsonl", b_eff_io_log(form="top-clusters", scheduled=600.0))
    assert found.add(0, "usual", log) is None
    assert found.judged == ["b_eff_io_2_1"]
    with pytest.raises(PlanError, match="a run has no metric b_eff_io, but b_eff_io_2_1, "):
        results(metrics=["b_eff_io"]).add(0, "usual", log)


def added(found, folder, block, arm, host="node01", link=1e9, **mpi):
    """Adds a run whose second node has this name, over links of so many byte/s, with these fields of its library."""
    records = averaged_log(ranks=2, nodes=2, bandwidth=steady(link=link))
    for record in records:
        for one in record.get("hosts", ()) if record["record"] == "run" else ():
            one["name"] = host if one["name"] != "node00" else one["name"]
    variables = {"X": "1", "COFFEECUP_COMPARED": "X"} if arm == "other" else {}
    records[0]["environment"] |= variables
    records[0]["mpi"] |= mpi
    assert found.add(block, arm, logs_made.write(folder / f"{block}-{arm}.jsonl", records)) is None


def test_a_setting_without_shared_memory_does_not_move_a_run_to_another_host(tmp_path):
    """Each process is a host by itself to MPI then, all of the same name, as with MPIR_CVAR_NOLOCAL of MPICH."""
    found = results()
    added(found, tmp_path, 0, "other", host="node00")
    records = averaged_log(ranks=2, nodes=1)
    assert found.add(0, "usual", logs_made.write(tmp_path / "usual.jsonl", records)) is None
    assert not found.apart and "hosts" not in [each.fact for each in found.differences]


NODES = "hosts of {} changed: node00, node01 from block 1 on, node00, node02 from block 3 on"
LIBRARIES = "MPI library of {} changed: Open MPI v4.1.4 from block 1 on, Open MPI v5.0.8 from block 4 on"
ALL = "control, other, usual"


@pytest.mark.parametrize(
    ("hosts", "new", "named", "obstacles"),
    [
        (["node01", "node01", "node02", "node02"], [], [NODES.format(ALL)], 0),
        (["node01"] * 4, ["control", "other", "usual"], [LIBRARIES.format(ALL)], 1),
        (["node01"] * 4, ["other"], [LIBRARIES.format("other")], 1),
        (["node01"] * 4, [], [], 0),
    ],
)
def test_what_changes_between_blocks_is_named_and_another_library_ends_a_comparison(
    tmp_path, hosts, new, named, obstacles
):
    """In all arms or in one of them."""
    found = results()
    for block, host in enumerate(hosts):
        for arm in ("usual", "control", "other"):
            version = "5.0.8" if block == 3 and arm in new else "4.1.4"
            added(found, tmp_path, block, arm, host, library=f"Open MPI v{version}")
        assert found.is_over is (block == 3 and bool(obstacles))
    assert [line for line in text(found.comparison).splitlines() if " changed: " in line][obstacles:] == named
    assert found.obstacles == [f"{each}: compare in another folder" for each in named[:obstacles]]


@pytest.mark.parametrize("other", ["other", "control"])
def test_runs_of_a_block_on_other_nodes_end_a_comparison(tmp_path, other):
    """Whichever arm: what differs may be the nodes. A block on other nodes than the block before is a comparison."""
    found, ends = results(), []
    for block in range(3):
        for arm in ("usual", "control", "other"):
            added(found, tmp_path, block, arm, f"node{block + 1 + (block == 2 and arm == other):02}")
        ends.append(found.is_over)
    assert ends == [False, False, True]
    assert found.obstacles == [
        f"in block 3, {other} ran on node00, node04 and usual on node00, node03: start all runs in one allocation, "
        "such as that of salloc"
    ]


def test_what_differs_in_the_control_alone_is_no_difference_of_the_arms(tmp_path):
    found = results()
    for arm, host in (("usual", "node01"), ("other", "node01"), ("control", "node02")):
        added(found, tmp_path, 0, arm, host)
    said = text(found.comparison)
    assert "control ran on node00, node02 and usual on node00, node01" in said and "    hosts: " not in said


@pytest.mark.parametrize(
    ("arm", "facts"),
    [
        (Arm(), set()),
        (Arm(environment={"X": "2"}), {"processes", "environment X"}),
        (Arm(modules=["mpi/5"]), {"sources", "environment X", "environment Y"}),
        (Arm(command=["srun", "-w", "n2", "kernel"]), EVERY_FACT),
    ],
)
def test_what_explains_a_fact(arm, facts):
    """Beside the options of the first arm, which explain nothing of its control."""
    plan = Plan(command=["kernel"], arms={"usual": Arm(options=["--seed"]), "other": arm})
    found = {name: {fact for fact in EVERY_FACT if may_change(plan, name, fact)} for name in ("other", "control")}
    assert found == {"other": facts | {"MPI library", "option seed"}, "control": set()}


@pytest.mark.parametrize(("link", "obstacles"), [(1e9, 0), (5e8, 1)])
def test_nothing_is_decided_if_the_control_differs(tmp_path, link, obstacles):
    found = results(pairs=6)
    for block in range(6):
        for arm in ("usual", "control", "other"):
            added(found, tmp_path, block, arm, link=link if arm == "control" else 1e9)
    assert [each.decided for each in found.verdicts] == [True]
    assert found.holds is not bool(obstacles) and len(found.obstacles) == obstacles
    assert all("usual differs from itself (control beside usual: worse by " in each for each in found.obstacles)


@pytest.mark.parametrize(
    ("host", "link", "silent"), [("node01", 1e9, ["other"]), ("node02", 1e9, []), ("node01", 1.5e9, [])]
)
def test_an_arm_whose_variable_has_no_effect_is_named(tmp_path, host, link, silent):
    """Its logs differ from those of the first arm in the variable alone, and no verdict calls it different."""
    found = results(pairs=6)
    for block in range(6):
        assert found.without_effect == []  # not judged yet
        for arm in ("usual", "control"):
            added(found, tmp_path, block, arm)
        added(found, tmp_path, block, "other", host, link)
    assert found.without_effect == silent
    assert ("no difference of other: was a setting ignored?" in text(found.comparison)) is bool(silent)


def test_noise_and_qualifications_of_the_runs_are_stated(tmp_path):
    """Over links that are faster by 1 and 2 %, and slower by 4 %: the median is the second one, without its sign."""
    assert results().noise == {}
    found = results(pairs=6)
    for block, factor in enumerate((1.01, 1 / 1.04, 1.02)):
        added(found, tmp_path, block, "usual")
        added(found, tmp_path, block, "control", link=1e9 * factor)
    usual, control = (found.scores[2, arm].metrics["b_eff"].value for arm in ("usual", "control"))
    assert found.noise == {"b_eff": pytest.approx(control / usual - 1)} and control > usual
    counts = found.qualifications
    others = [q.key for q in found.scores[0, "usual"].qualifications if "Not official" not in q.text]
    assert {key: of_arms["usual"] for key, of_arms in counts.items()} == dict.fromkeys(others, 3) and others


def test_the_figure_of_b_eff_io_has_the_sizes_that_all_runs_have(tmp_path):
    """With a ratio for each: accesses that fill up a segment have another size in each run."""
    found, rates, fillings = results(), {"usual": 1e8, "other": 1.1e8, "control": 1e8}, set()
    for block in range(3):
        for arm, rate in rates.items():
            noisy = rate * (1 + 0.02 * block)
            records = b_eff_io_log(lambda *_, rate=noisy: rate, ranks=2, nodes=1, partitions=(2,))
            records[0]["environment"] |= {"X": "1", "COFFEECUP_COMPARED": "X"} if arm == "other" else {}
            assert found.add(block, arm, logs_made.write(tmp_path / f"{block}-{arm}.jsonl", records)) is None
            measured = [record for record in records if record["record"] == "measurement"]
            fillings |= {record["chunk_bytes"] for record in measured if record["pattern"] == 33}
    [figure] = figures(found)
    m_part = 512 * 2**20  # a 128th of the memory
    sizes = {1024, 1032, 32768, 32776, 2**20, 2**20 + 8, m_part}
    assert len(fillings - sizes) > 1 and set(figure.data["size_bytes"]) == sizes
    assert figure.data.notna().all(axis=None)
    medians = figure.data.groupby("arm")["median"]
    assert dict(medians.min()) == pytest.approx({"control": 1, "other": 1.1})
    assert dict(medians.max()) == pytest.approx({"control": 1, "other": 1.1})


def test_a_run_that_failed_leaves_the_sizes_of_the_others():
    rows = [(block, arm, 8) for block in range(3) for arm in ("usual", "other")]
    rows += [(3, "usual", 8), (0, "usual", 9), (0, "other", 9), (1, "usual", 9)]
    table = pd.DataFrame(rows, columns=["block", "arm", "size_bytes"]).assign(log_mean=0.0)
    assert shares(table, "other", "usual").to_dict("index") == {8: {"low": 1, "median": 1, "high": 1}}

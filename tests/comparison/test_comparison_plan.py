# SPDX-License-Identifier: Apache-2.0
"""Plans of comparisons: what is refused with which sentence, and an order that favours no arm."""

from collections import Counter
from itertools import combinations

import pytest

from coffeecup.postprocess.comparison.plan import Arm, Plan, PlanError, arm_of, changed, plan_of, read_plan

TWO = {"usual": Arm(), "other": Arm(options=["--fast"])}
FILE = """
command: mpirun -n 2 b_eff
arms:
  usual: {}
  other: {environment: {UCX_TLS: tcp, OMP_NUM_THREADS: null}, modules: [mpi/5], options: [--seed, "2"]}
"""


def test_a_file_and_options_state_the_same(tmp_path):
    (tmp_path / "plan.yaml").write_text(FILE.replace(", OMP_NUM_THREADS: null", "").replace(" modules: [mpi/5],", ""))
    arms = ["usual=", "other=UCX_TLS=tcp --seed 2"]
    assert read_plan(tmp_path / "plan.yaml") == plan_of(["mpirun", "-n", "2", "b_eff"], arms)


def test_commands_are_split_as_in_a_shell(tmp_path):
    text = FILE.replace("usual: {}", "usual: {command: srun -n 2 'b eff'}")
    (tmp_path / "plan.yaml").write_text(text)
    plan = read_plan(tmp_path / "plan.yaml")
    assert (plan.command, plan.arms["usual"].command) == (["mpirun", "-n", "2", "b_eff"], ["srun", "-n", "2", "b eff"])


def test_options_replace_what_a_file_states(tmp_path):
    (tmp_path / "plan.yaml").write_text(FILE)
    plan = read_plan(tmp_path / "plan.yaml")
    other = changed(plan, pairs=6, command=["kernel"])
    assert (other.pairs, other.command, other.minimum, other.arms) == (6, ["kernel"], plan.minimum, plan.arms)
    with pytest.raises(PlanError, match="fewer than 6 pairs"):
        changed(plan, pairs=5)


def test_settings_of_an_arm_are_quoted_as_in_a_shell():
    assert arm_of("a='X=1 2' Y= --hints 'a=b c'") == (
        "a",
        Arm(environment={"X": "1 2", "Y": ""}, options=["--hints", "a=b c"]),
    )


@pytest.mark.parametrize("seed", range(20))
def test_order_is_random_and_each_arm_is_first_in_half_of_the_blocks(seed):
    plan = Plan(command=["kernel"], arms=TWO | {"third": Arm(options=["--slow"])}, seed=seed)
    orders = [plan.order(block) for block in range(20)]
    arms = [*plan.arms, "control"]
    assert all(sorted(order) == sorted(arms) for order in orders)
    before = Counter((one, other) for order in orders for one, other in combinations(order, 2))
    assert set(before.values()) == {10}
    assert len({tuple(order) for order in orders}) > 6  # not one order again and again


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"usual: {}": ""}, "at least two arms"),
        ({"usual: {}": "control: {}"}, "name of the arm that runs the first one once more"),
        ({"usual: {}": "usual: {options: [a]}\n  third: {options: [a]}"}, "two arms are the same"),
        ({"usual: {}": "'../usual': {}"}, "matching regex"),
        ({"options": "option"}, "unknown field `option`"),
        ({"command: mpirun -n 2 b_eff": "command: []"}, "length >= 1"),
        ({"\narms": "\npairs: 5\narms"}, "fewer than 6 pairs"),
        (
            {"\narms": "\npairs: 7\nmetrics: [a, b, c, d]\narms"},
            "4 differences cannot be judged from fewer than 8 pairs",
        ),
        ({"\narms": "\nminimum: 0\narms"}, "`float` > 0"),
        ({"arms:": "arms: ["}, "plan.yaml"),
        ({"usual: {}": "usual: {}\n  usual: {}"}, "the key 'usual' occurs twice"),
        ({"UCX_TLS: tcp": "UCX_TLS: 4"}, "got `int` - at `$.arms[...].environment[...]`: quote what is text"),
        ({FILE: ""}, "Expected `object`, got `null`"),
        ({"UCX_TLS: tcp": "UCX_TLS=tcp"}, "in `$.arms[...].environment`: a variable is NAME: VALUE"),
        ({"UCX_TLS: tcp": 'UCX_TLS: "a\\0"'}, "without null characters"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, change, sentence):
    text = FILE
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(PlanError) as refused:
        read_plan(tmp_path / "plan.yaml")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "arms, sentence",
    [
        (["usual=", "usual=--fast"], "the same name"),
        (["usual", "other=--fast"], "an arm is NAME=SETTINGS"),
        (["usual='", "other=--fast"], "No closing quotation"),
        (["usual=", "../other=--fast"], "an arm is NAME=SETTINGS"),
        (["usual="], "at least two arms"),
    ],
)
def test_options_that_state_no_arms(arms, sentence):
    with pytest.raises(PlanError, match=sentence):
        plan_of(["kernel"], arms)


def test_a_command_that_is_not_utf_8_is_refused():
    """As an argument that Python decoded; the plan is kept as JSON."""
    with pytest.raises(PlanError, match="it must be UTF-8"):
        plan_of(["b_eff", "--log", "\udcff"], ["usual=", "other=--fast"])


def test_a_plan_that_is_not_there(tmp_path):
    with pytest.raises(PlanError, match="No such file"):
        read_plan(tmp_path / "none.yaml")

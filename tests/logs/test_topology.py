# SPDX-License-Identifier: Apache-2.0
"""Where nodes are in the topology of Slurm, by the forms of address that the sources of Slurm 26.11 have for each
plug-in; tests/checks/test_slurm.py has a tree of a real Slurm."""

import os
import subprocess

import logs_made
import pytest
from documented import groups_of_nodes
from logs_made_b_eff import b_eff_log

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.facts import facts

ADDRESSES = {
    "tree": (["s0.s4.n1", "s0.s4.n2", "s0.s5.n3"], "3 nodes in 2 groups", "group by group"),
    "tree, mixed": (["s0.s4.n1", "s0.s5.n3", "s0.s4.n2"], "3 nodes in 2 groups", "groups mixed"),
    "block": (["b1.n1", "b2.n5", "b3.n9"], "3 nodes in 3 groups", "group by group"),
    "ring": (["r8:2.n1", "r8:3.n2", "r8:0.n3"], "3 nodes in 1 group", "group by group"),
    "torus3d": (["t:0:0:1.n1", "u:0:1:0.n2", "t:1:0:0.n3"], "3 nodes in 2 groups", "groups mixed"),
    "flat": (["n1", "n2", "n3"], None, None),
    "not stated": ([None, None, None], None, None),
}


@pytest.mark.parametrize("topology", ADDRESSES)
def test_topology_and_order_of_nodes_are_facts(topology, tmp_path):
    addresses, spread, order = ADDRESSES[topology]
    log = b_eff_log(ranks=3, nodes=3)
    log[0]["hosts"] = [
        host | ({"topology": address} if address else {})
        for host, address in zip(log[0]["hosts"], addresses, strict=True)
    ]
    log[0]["environment"]["COFFEECUP_ASKED"] = "processes_per_node=1,scheduler=slurm-26.11.0"
    found = facts(score_log(logs_made.write(tmp_path / "log.jsonl", log)).log)
    assert (found.get("topology"), found.get("order of nodes")) == (spread, order)
    assert found["scheduler"] == "slurm-26.11.0"


# As `scontrol show topology` prints it.
PRINTED = {
    "tree": """SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=b Level=0 LinkSpeed=1 Nodes=n3
SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=a,b
""",
    "block": """BlockName=a BlockIndex=0 Nodes=n[1-2] BlockSize=2
BlockName=b BlockIndex=1 Nodes=n3 BlockSize=2
AggregatedBlock=a,b BlockIndex=2 Nodes=n[1-3] BlockSize=4
""",
    "ring": "RingName=a Nodes=n[1-2] RingSize=2\nRingName=b Nodes=n3 RingSize=1\n",
    "torus3d": """TorusName=a Dims=2x1x1 Nodes=n[1-2]
  TorusName=a PlacementDims=1x1x1(1) Anchors=2
TorusName=b Dims=1x1x1 Nodes=n3
""",
}


@pytest.mark.parametrize("topology", PRINTED)
def test_recipe_of_the_documentation_writes_the_groups_of_nodes(topology, tmp_path):
    (tmp_path / "topology").write_text(PRINTED[topology])
    command = tmp_path / "scontrol"
    command.write_text(f"""#!/bin/sh
[ "$2" = topology ] && exec cat {tmp_path}/topology
case "$3" in "n[1-2]") printf 'n1\\nn2\\n' ;; *) echo "$3" ;; esac
""")
    command.chmod(0o755)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", groups_of_nodes()], env=found, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["n1 a", "n2 a", "n3 b"], done.stderr

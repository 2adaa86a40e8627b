# SPDX-License-Identifier: Apache-2.0
"""The ReFrame check of b_eff on partitions with accelerators: its sizes, what it requests, and a real run on a
stand-in."""

import re

import pytest
from accelerators import stand_in
from builds import OPEN_MPI
from check_runs import configuration, prebuilt, values

CHECKS_OF = "b_eff"
DEVICES = [{"type": "gpu", "arch": "sm_90", "num_devices": 2}]


def site(folder, *partitions):
    """Partitions with devices, of this machine unless a scheduler is stated."""
    common = {"features": ["gpu", "overcommit"], "devices": DEVICES}
    return configuration(folder, *(common | partition for partition in partitions))


def test_sizes_have_one_process_per_device(reframe, tmp_path):
    """On partitions with the feature; the last one has devices without it."""
    nodes = {"num_nodes": 6, "cores_per_node": 64}
    config = site(
        tmp_path,
        {"extras": {}},
        {"extras": nodes},
        {"extras": nodes | {"devices_per_node": 4, "max_nodes": 3}},
        {"extras": nodes | {"devices_per_node": 1}, "devices": []},
        {"extras": nodes, "features": ["overcommit"]},
    )
    session = reframe("-l", "-n", "b_eff_gpu", config=config)
    assert session.returncode == 0 and "WARNING" not in session.output, session.output
    listed = re.findall(r"^- b_eff_gpu .*num_processes=(\d+)", session.output, re.MULTILINE)
    assert sorted(map(int, listed)) == sorted([2, *(2, 4, 8, 12), *(4, 8, 12), *(2, 4, 6)])


def test_what_the_configuration_does_not_state_fails_the_check_with_its_remedy(reframe, tmp_path):
    """`-L` says it as well, and lists the checks that need no accelerator."""
    config = site(tmp_path, {"devices": []}, {"devices": [{"type": "gpu", "num_devices": 2}]})
    session = reframe("--dry-run", "-n", "b_eff_gpu", config=config)
    assert session.returncode != 0
    says = "'made:p0': neither its configuration nor its scheduler states the number of accelerators"
    assert says in session.output
    listed = reframe("-L", config=config)
    assert says in listed.output and listed.output.index(says) < listed.output.index("- b_eff %")
    assert "add extras {'devices_per_node': N}" in session.output
    unknown = "the kind of memory of its accelerators is unknown; add extras {'device_memory': KIND}"
    assert f"'made:p1': {unknown}" in session.output


def test_job_requests_the_devices_of_its_nodes(reframe, tmp_path):
    """As the site's configuration says how: ReFrame's resource `_rfm_gpu`."""
    resources = [{"name": "_rfm_gpu", "options": ["--gres=gpu:{num_gpus_per_node}"]}]
    extras = {"num_nodes": 2, "cores_per_node": 8, "device_memory": "level-zero"}
    batch = {"scheduler": "slurm", "launcher": "srun", "access": ["--partition=gpus"], "resources": resources}
    config = site(tmp_path, {"extras": extras, "features": ["gpu"], **batch})
    session = reframe("--dry-run", "-n", "b_eff_gpu.*=4", config=config)
    [script] = (reframe.folder / "stage").glob("made/p0/mpi/b_eff_gpu_*/rfm_job.sh")
    text = script.read_text()
    assert "--gres=gpu:2" in text and "--ntasks=4" in text and "--ntasks-per-node=2" in text, session.output
    assert "--memory host,level-zero" in text


@pytest.mark.prove
def test_real_run_has_metrics_of_both_kinds_of_memory(reframe, openmpi, tmp_path):
    library = stand_in(tmp_path, "openmpi")
    short = [*prebuilt(openmpi.bin), *values("b_eff_gpu.time_budget=1", "b_eff_gpu.memory_per_process=1MiB")]
    few = "--longest-loop 1 --repetitions 1 --random-patterns 1 --methods sendrecv,blocking"
    extras = {"kernel_options": {"b_eff": [*few.split(), "--patterns", "ring,random,ping_pong"]}}
    environment = [["LD_LIBRARY_PATH", str(library.parent)], ["LD_PRELOAD", str(library)], ["STANDIN_DEVICES", "2"]]
    config = site(tmp_path, {"extras": extras, "env_vars": environment})
    session = reframe("-r", "-n", "b_eff_gpu", *short, config=config, env=OPEN_MPI)
    assert session.returncode == 0, session.output
    [case] = session.cases
    found = {name.rpartition(":")[2]: value for name, (value, *_) in case["perfvalues"].items()}
    assert {"b_eff", "b_eff_cuda", "ring_latency_cuda", "ping_pong_latency_host_cuda"} <= found.keys()
    assert case["memory"] == "host,cuda" and case["num_tasks"] == 2

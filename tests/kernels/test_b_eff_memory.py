# SPDX-License-Identifier: Apache-2.0
"""b_eff in memory of accelerators: a stand-in whose memory faults if the kernel touches it (faults/accelerator.c)."""

import re
import subprocess
from contextlib import suppress
from ctypes import CDLL

import pytest
from accelerators import FEW, LIBRARIES, SHORT, run_in_memory, stand_in
from builds import SANITIZERS, compiled, compiler_and_launcher
from kernel_runs import error, good, of_kind, records, refused, run
from logs_made_b_eff import lengths
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log

MIB = 2**20


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A function of MPI and kind of memory: the stand-in."""
    built = {}

    def library(mpi, kind="cuda"):
        key = mpi.name, kind.split("-")[0]
        if key not in built:
            built[key] = stand_in(tmp_path_factory.mktemp("accelerator"), mpi.name, kind)
        return built[key]

    return library


@pytest.fixture
def in_memory(libraries, tmp_path):
    """Runs b_eff with --memory and the stand-in of the kind of memory that is named last."""

    def run(mpi, ranks, kinds, *options, library=None, **settings):
        library = library or libraries(mpi, kinds.split(",")[-1])
        return run_in_memory(mpi, tmp_path, ranks, kinds, *options, library=library, **settings)

    return run


def plan_of(folder):
    [plan] = of_kind(folder / "b_eff.jsonl", "plan")
    return plan


def also(*values):
    """Parameters that are tried in `make prove` only, because each takes a second."""
    return [pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=pytest.mark.prove) for v in values]


OPENMPI_FIRST = pytest.mark.parametrize("mpi", ["openmpi", *also("mpich")], indirect=True)


def refusal(done, folder):
    """The only line of a run that was refused."""
    assert not (folder / "b_eff.jsonl").exists()
    return refused(done)


def test_stand_in_faults_where_the_host_touches_device_memory(openmpi, libraries, tmp_path):
    """What the other tests rely on: the kernel would have crashed."""
    declared = "int cudaMalloc(void **, unsigned long);\n"
    (tmp_path / "touch.c").write_text(declared + "int main(void) { void *p; cudaMalloc(&p, 1); return *(char *)p; }\n")
    mpicc = compiler_and_launcher("openmpi")[0]
    program = compiled(tmp_path / "touch", tmp_path / "touch.c", libraries(openmpi), compiler=mpicc)
    environment = openmpi.environment | {"LD_LIBRARY_PATH": str(libraries(openmpi).parent)}
    assert run([program], env=environment).returncode == -11


def test_all_patterns_and_methods_in_device_memory(mpi, tmp_path, in_memory):
    good(in_memory(mpi, 3, "cuda", *SHORT, *FEW))
    log = read_log(tmp_path / "b_eff.jsonl")
    measured = {(r["pattern"], r["method"]) for r in log.records["measurement"]}
    assert measured == {(p["name"], method) for p in log.plan["patterns"] for method in p["methods"]}
    assert {p["group"] for p in log.plan["patterns"]} == set(log.run["options"]["patterns"])
    assert {method for _, method in measured} == set(log.run["options"]["methods"])
    score = score_log(tmp_path / "b_eff.jsonl")
    assert score.headline[0] == "b_eff_cuda" and all(name.endswith("_cuda") for name in score.metrics)


@OPENMPI_FIRST
def test_host_and_device_memory_of_two_devices_with_five_processes(mpi, tmp_path, in_memory):
    """L_max is 1/128 of the memory of a device that three of the processes share."""
    device = 3 * 4 * MIB + 2
    options = "--patterns ring,random,ping_pong --methods nonblocking,blocking --time-budget 1 --longest-loop 1"
    good(in_memory(mpi, 5, "host,cuda", options, *FEW, STANDIN_DEVICES=2, STANDIN_BYTES=device))
    log = read_log(tmp_path / "b_eff.jsonl")
    host, cuda = log.plan["memory"]
    assert host == {"kind": "host", "memory_per_process_bytes": log.run["memory_per_process_bytes"]}
    assert [(d["pci_address"], d["ranks"], d["memory_bytes"]) for d in cuda["devices"]] == [
        ("0000:3b:00.0", [0, 2, 4], device),
        ("0000:3c:00.0", [1, 3], device),
    ]
    assert cuda["memory_per_process_bytes"] == 4 * MIB and log.plan["message_bytes"] == lengths(4 * MIB // 128)
    assert cuda["supported"] is True and cuda["library"] == "libcudart.so.13"
    names = [pattern["name"] for pattern in log.plan["patterns"]]
    assert names[:3] == ["ring-1-host", "ring-1-cuda", "ring-2-host"]
    assert names[-3:] == ["ping-pong-host", "ping-pong-host-cuda", "ping-pong-cuda"]
    score = score_log(tmp_path / "b_eff.jsonl")
    assert {"b_eff", "b_eff_cuda", "ping_pong_latency_cuda", "ping_pong_bandwidth_host_cuda"} <= score.metrics.keys()
    assert "l_max_of_other_memory" in [breach.key for breach in score.breaches]


@pytest.mark.parametrize("kind", ["hip", "level-zero", *also("cuda-managed", "hip-managed", "level-zero-shared")])
def test_each_kind_of_memory(openmpi, tmp_path, kind, in_memory):
    options = (*SHORT, *FEW, "--patterns ring,random --methods sendrecv")
    good(in_memory(openmpi, 2, kind, *options, STANDIN_DEVICES=2))
    [memory] = plan_of(tmp_path)["memory"]
    assert (memory["kind"], memory["library"]) == (kind, LIBRARIES[kind.split("-")[0]])
    assert [device["ranks"] for device in memory["devices"]] == [[0], [1]]
    assert f"b_eff_{kind.replace('-', '_')}" == score_log(tmp_path / "b_eff.jsonl").headline[0]


def test_devices_that_a_scheduler_gave_to_each_process(openmpi, libraries, tmp_path):
    """As Slurm does with --gpus-per-task: each process sees one device, its own."""
    where = f"--log {tmp_path}/b_eff.jsonl --memory cuda"
    command = openmpi.command(2, "b_eff", *SHORT, where, env={"LD_PRELOAD": "stand-in"})
    kernel = command.index(str(openmpi.bin / "b_eff"))
    script = f'CUDA_VISIBLE_DEVICES=$((3 + OMPI_COMM_WORLD_LOCAL_RANK)) LD_PRELOAD={libraries(openmpi)} exec "$0" "$@"'
    launcher = command[: kernel - 2]
    good(run([*launcher, "sh", "-c", script, *command[kernel:], "--patterns", "ping_pong"], env=openmpi.environment))
    [memory] = plan_of(tmp_path)["memory"]
    found = [(device["pci_address"], device["ranks"]) for device in memory["devices"]]
    assert found == [("0000:3e:00.0", [0]), ("0000:3f:00.0", [1])]


METHODS = ("sendrecv", "alltoallv", "nonblocking", "neighbor", "persistent", "blocking")


@pytest.mark.parametrize(
    ("mpi", "method"),
    [("openmpi", "nonblocking"), *also(*((name, method) for name in ("openmpi", "mpich") for method in METHODS))],
    indirect=["mpi"],
)
def test_wrong_byte_in_device_memory_is_found(mpi, method, in_memory):
    pattern = "ping_pong" if method == "blocking" else "ring"
    done = in_memory(mpi, 2, "cuda", *SHORT, f"--patterns {pattern} --methods {method}", STANDIN_FLIP=7)
    assert done.returncode == 1
    struck = "ping-pong-cuda" if method == "blocking" else "ring-1-cuda"
    found = rf"data check: pattern {struck}, method {method}, message length \d+ byte: rank 1 received a wrong byte"
    assert re.search(found + " from rank 0 at offset 0;", done.stderr), done.stderr


def test_mixed_ping_pong_receives_into_device_memory_of_the_second_process(openmpi, in_memory):
    """The first receive of rank 1 in device memory is struck: none belongs to the ping-pong in host memory."""
    done = in_memory(openmpi, 2, "host,cuda", *SHORT, "--patterns ping_pong", STANDIN_FLIP=1)
    assert done.returncode == 1
    assert "data check: pattern ping-pong-host-cuda, method blocking" in done.stderr


def test_sanitizers_are_silent(openmpi_sanitized, in_memory):
    options = (*SHORT, *FEW, "--patterns ring,ping_pong")
    done = good(in_memory(openmpi_sanitized, 2, "host,cuda", *options, **SANITIZERS))
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr


def test_failed_allocation_ends_the_run_with_the_vendors_error(openmpi, tmp_path, in_memory):
    done = in_memory(openmpi, 2, "cuda", *SHORT, STANDIN_FREE=100000)
    assert done.returncode == 1
    assert "cudaMalloc: out of memory (error 2); use fewer processes for each device" in error(done)
    assert records(tmp_path / "b_eff.jsonl")[-1]["status"] == "failed"


def test_node_without_device_is_refused_with_the_vendors_error(openmpi, tmp_path, in_memory):
    errors = {"cuda": "cudaGetDeviceCount: no CUDA-capable device", "level-zero": "zeDeviceGet: no device"}
    for kind, of_vendor in errors.items():
        done = in_memory(openmpi, 2, kind, STANDIN_DEVICES=0)
        assert f"--memory {kind}: {of_vendor}" in refusal(done, tmp_path)


def test_missing_library_is_named(openmpi, tmp_path):
    with suppress(OSError):
        CDLL(LIBRARIES["cuda"])
        pytest.skip("this machine has CUDA's runtime library")
    line = refusal(run_in_memory(openmpi, tmp_path, 2, "cuda", "--memory-anyway"), tmp_path)
    assert "--memory cuda: the runtime library libcudart.so.13 is not on this node" in line


def test_missing_function_is_named(openmpi, tmp_path, in_memory):
    (tmp_path / "empty.c").write_text("int cudaGetDeviceCount(int *count) { return *count = 0; }\n")
    library = stand_in(tmp_path, "openmpi", sources=[tmp_path / "empty.c"])
    done = in_memory(openmpi, 2, "cuda", "--memory-anyway", library=library)
    assert "libcudart.so.13 has no function cudaSetDevice; install a newer version" in refusal(done, tmp_path)


@OPENMPI_FIRST
def test_unsupported_kind_is_refused_and_tried_only_on_demand(mpi, tmp_path, in_memory):
    line = refusal(in_memory(mpi, 2, "cuda", *SHORT, STANDIN_SUPPORT=0), tmp_path)
    assert '"MPIX_Query_cuda_support": false' in line and "--memory-anyway" in line
    good(in_memory(mpi, 2, "cuda", *SHORT, "--memory-anyway --methods sendrecv", *FEW, STANDIN_SUPPORT=0))
    score = score_log(tmp_path / "b_eff.jsonl")
    assert "memory_not_supported" in [qualification.key for qualification in score.qualifications]


@pytest.mark.parametrize(
    ("stated", "kind", "supported"),
    [
        ("system,cuda:host:device", "cuda", True),
        ("system,cuda:device", "cuda-managed", False),
        *also(
            ("mpi,system,cuda", "cuda", True),
            ("rocm:managed", "hip-managed", True),
            ("cuda", "hip", False),
            ("level_zero:shared", "level-zero-shared", True),
        ),
    ],
)
def test_kinds_of_mpi_4_1(openmpi, tmp_path, stated, kind, supported, in_memory):
    options = (*SHORT, "--patterns", "ping_pong")
    settings = {"STANDIN_SUPPORT": 0, "STANDIN_KINDS": stated}
    done = in_memory(openmpi, 2, kind, *options, **settings)
    if supported:
        good(done)
        [memory] = plan_of(tmp_path)["memory"]
        assert memory["supported"] and memory["asked"]["mpi_memory_alloc_kinds"] == stated
    else:
        assert f'"mpi_memory_alloc_kinds": "{stated}"' in refusal(done, tmp_path)


UCX = """#include <stdint.h>
#include <stdlib.h>
signed char ucp_init_version(unsigned a, unsigned b, const void *p, const void *c, void **context)
{ (void)a; (void)b; (void)p; (void)c; *context = &context; return atoi(getenv("UCX_FAILS")); }
signed char ucp_context_query(void *context, uint64_t *attributes)
{ (void)context; attributes[3] = strtoull(getenv("UCX_TYPES"), NULL, 0); return 0; }
void ucp_cleanup(void *context) { (void)context; }
"""


@pytest.mark.parametrize(
    ("kind", "types", "fails", "supported"),
    [
        ("cuda", 1 << 1, 0, True),
        ("cuda", 0x1FF - (1 << 1), 0, False),
        ("cuda", 1 << 1, -1, False),
        *also(("cuda-managed", 1 << 2, 0, True), ("hip", 1 << 3, 0, True), ("hip-managed", 1 << 4, 0, True)),
        *also(("level-zero", 1 << 7, 0, True), ("level-zero-shared", 1 << 8, 0, True)),
    ],
)
def test_ucx_is_asked_where_it_is_loaded(openmpi, libraries, tmp_path, kind, types, fails, supported, in_memory):
    """By a library with UCX's name that reports some of the kinds of memory, by their numbers in UCX's header."""
    (tmp_path / "ucx.c").write_text(UCX)
    library = tmp_path / "libucp.so.0"
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    subprocess.run(["cc", *flags, tmp_path / "ucx.c", "-o", library], check=True)
    both = f"{libraries(openmpi, kind)}:{library}"
    settings = {"STANDIN_SUPPORT": 0, "UCX_TYPES": types, "UCX_FAILS": fails}
    done = in_memory(openmpi, 2, kind, *SHORT, "--patterns ping_pong", library=both, **settings)
    if supported:
        good(done)
        [memory] = plan_of(tmp_path)["memory"]
        assert memory["supported"] and memory["asked"]["ucp_context_query"] is True
    else:
        assert '"ucp_context_query": false' in refusal(done, tmp_path)


def test_memory_per_process_has_to_fit_on_the_device(openmpi, in_memory, tmp_path):
    options = "--memory-per-process 2MiB --patterns ping_pong --time-budget 1 --longest-loop 1"
    for device, status in ((4 * MIB, 0), (4 * MIB - 1, 2)):
        done = in_memory(openmpi, 2, "cuda", options, STANDIN_BYTES=device)
        assert done.returncode == status, done.stderr
        (tmp_path / "b_eff.jsonl").unlink(missing_ok=True)
    assert "more cuda memory than a device has for each of its processes, 2097151 bytes" in done.stderr


def test_log_without_memory_has_no_field_of_it(openmpi, tmp_path):
    good(openmpi.run(2, "b_eff", "--log", tmp_path / "b_eff.jsonl", *SHORT, "--patterns ping_pong"))
    log = read_log(tmp_path / "b_eff.jsonl")
    assert not any("memory" in pattern for pattern in log.plan["patterns"])
    assert "memory" not in log.plan
    assert log.run["options"]["memory"] is None and log.run["options"]["memory-anyway"] is False

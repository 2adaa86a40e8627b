# SPDX-License-Identifier: Apache-2.0
"""Changes of a log with two kinds of memory, for each invariant that they break: as in contradictions.py, but of a log
of a kernel on five processes, of which three are on the first node."""

from contradictions import both, option, pattern, put


def cuda(**fields):
    return lambda r: r[1]["memory"][1].update(fields)


def host(**fields):
    return lambda r: r[1]["memory"][0].update(fields)


def device(number, **fields):
    return lambda r: r[1]["memory"][1]["devices"][number].update(fields)


def without(*path):
    """Removes a field of the run or the plan."""

    def change(r):
        *inner, last = path
        place = r
        for key in inner:
            place = place[key]
        del place[last]

    return change


def swapped(r):
    plan = r[1]
    plan["patterns"][0], plan["patterns"][1] = plan["patterns"][1], plan["patterns"][0]


def managed_elsewhere(r):
    """The same vendor's managed memory, on the two devices of the first node the other way round."""
    managed = {**r[1]["memory"][1], "kind": "cuda-managed"}
    first, second, *others = managed["devices"]
    managed["devices"] = [{**first, "numa_node": 1}, second, *others]
    r[1]["memory"].append(managed)
    r[0]["options"]["memory"].append("cuda-managed")
    for entry in [p for p in r[1]["patterns"] if p["memory"] == ["cuda", "cuda"]]:
        kinds = [["cuda", "cuda-managed"], ["cuda-managed", "cuda-managed"]]
        base = entry["name"].removesuffix("-cuda")
        wanted = [[*kinds, ["host", "cuda-managed"]], kinds[1:]][entry["group"] != "ping_pong"]
        place = r[1]["patterns"].index(entry)
        added = [{**entry, "name": f"{base}-{'-'.join(dict.fromkeys(k))}", "memory": k} for k in wanted]
        if entry["group"] == "ping_pong":
            r[1]["patterns"][place:place] = added[2:]
            place += 1
        r[1]["patterns"][place + 1 : place + 1] = added[: len(added) - (entry["group"] == "ping_pong")]


def answers(kinds, supported, of_ucx=None, function="MPIX_Query_cuda_support"):
    return {"mpi_memory_alloc_kinds": kinds, function: supported, "ucp_context_query": of_ucx}


MEMORY = {
    "memory": [
        without(1, "memory"),
        lambda r: r[1]["memory"].reverse(),
        lambda r: r[1]["memory"].append(r[1]["memory"][0]),
        host(memory_per_process_bytes=2**30),
        host(library="libcudart.so.13"),
        host(supported=True),
        cuda(library=None),
        cuda(supported=None),
        cuda(asked=None),
        cuda(devices=None),
    ],
    "options": [
        option(memory=["cuda"]),
        option(memory=None),
        both(without(1, "memory"), without(0, "options", "memory")),
        without(0, "options", "memory"),
        without(0, "options", "memory-anyway"),
    ],
    "memory_of_patterns": [
        swapped,
        pattern("ring-1-cuda", memory=["host", "host"]),
        pattern("ring-1-cuda", memory=["host", "cuda"]),
        pattern("ring-1-cuda", name="ring-1"),
        pattern("ring-1-cuda", memory=None),
        pattern("ring-1-cuda", processes=4),
        pattern("ping-pong-host-cuda", memory=["cuda", "host"]),
        lambda r: r[1]["patterns"].pop(),
        lambda r: r[1]["patterns"].pop(1),
    ],
    "asked": [
        cuda(asked={"mpi_memory_alloc_kinds": None, "MPIX_Query_cuda_support": True}),
        cuda(asked=answers(True, True)),
        cuda(asked=answers(None, "yes")),
        cuda(asked=answers(None, True, "yes")),
        cuda(asked=answers(None, True, function="MPIX_Query_ze_support")),
    ],
    "supported": [
        cuda(supported=False),
        cuda(asked=answers(None, False, False)),
        cuda(asked=answers("cuda:managed,rocm", None)),
    ],
    "devices": [
        device(0, ranks=[0]),
        device(0, ranks=[0, 1, 2]),
        device(0, ranks=[2, 0]),
        both(device(0, ranks=[0]), device(2, ranks=[2, 3])),
        both(device(0, ranks=[0]), device(2, ranks=[2, 3], pci_address="0000:af:00.0")),
        device(1, pci_address="0000:3b:00.0"),
        lambda r: r[1]["memory"][1]["devices"].reverse(),
        managed_elsewhere,
    ],
    "device_memory": [
        cuda(memory_per_process_bytes=2**23 - 1),
        device(0, memory_bytes=2**24 - 2),
        device(2, memory_bytes=2**22),
    ],
    "budget_times": [put("matchings_left_out", elapsed_seconds=1.0)],
    "planned": [both(cuda(memory_per_process_bytes=2**22), device(0, memory_bytes=2**23))],
}

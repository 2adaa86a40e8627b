# SPDX-License-Identifier: Apache-2.0
"""What a log states of kinds of memory, and of devices. docs/log.md is made from these texts."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from coffeecup.postprocess.logs.records import Part, PositiveBytes, Rank, Text, about, matching

Kind = Literal["host", "cuda", "cuda-managed", "hip", "hip-managed", "level-zero", "level-zero-shared"]
HOST = "host"
KINDS: tuple[str, ...] = get_args(Kind)  # in the order of --memory


class Device(Part):
    """The accelerators in the order of their first ranks."""

    pci_address: Annotated[
        str, matching("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}[.][0-9a-f]"), about("as Linux writes it")
    ]
    numa_node: Annotated[Annotated[int, Meta(ge=0, le=10**6)] | None, about("null if the system does not report it")]
    memory_bytes: Annotated[PositiveBytes, about("its memory")]
    ranks: Annotated[list[Rank], Meta(min_length=1), about("the processes that use it")]


class Memory(Part):
    """The [kinds of memory](#kinds-of-memory) in which messages are, only with `--memory`."""

    kind: Annotated[Kind, about("that of the host has only the first two fields")]
    memory_per_process_bytes: Annotated[
        PositiveBytes,
        about(
            "of the host, that of the run; of devices the least of memory / processes that use the "
            "device. L_max follows from the least of all kinds"
        ),
    ]
    library: Annotated[Text | None, about("the runtime library that was loaded")] = None
    supported: Annotated[
        bool | None, about("whether the MPI library states on all nodes that it supports the kind")
    ] = None
    asked: Annotated[
        dict[Text, Text | bool | None] | None,
        about(
            "what the MPI library of rank 0 was [asked](b_eff_memory.md), with its answers; null if "
            "it does not know the question, or has not loaded UCX"
        ),
    ] = None
    devices: Annotated[list[Device], Meta(min_length=1)] | None = None

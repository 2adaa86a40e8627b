# SPDX-License-Identifier: Apache-2.0
"""The accelerators of a partition: first from the extras, then from the devices that the configuration lists."""

from reframe.core.exceptions import PipelineError

from coffeecup.postprocess import reframe_version  # noqa: F401

from .partitions import extras_of, features_of
from .vocabulary import Extra, Feature

MEMORY_OF = {"sm_": "cuda", "gfx": "hip"}  # by the beginning of a device's architecture


def has_devices(partition):
    """Whether the partition states that its nodes have accelerators."""
    return Feature.GPU in features_of(partition)


def devices_per_node(partition):
    """0 if nothing states it."""
    listed = sum(device.num_devices for device in partition.devices if device.device_type == "gpu")
    return extras_of(partition).get(Extra.DEVICES_PER_NODE, listed)


def device_memory(partition):
    """The kind of their memory. Raises PipelineError if nothing states it."""
    found = {
        kind
        for device in partition.devices
        if device.device_type == "gpu"
        for start, kind in MEMORY_OF.items()
        if (device.info.get("arch") or "").startswith(start)
    }
    if kind := extras_of(partition).get(Extra.DEVICE_MEMORY):
        return kind
    if len(found) != 1:
        raise PipelineError(
            f"partition {partition.fullname!r}: the kind of memory of its accelerators is unknown; add extras "
            f"{{{str(Extra.DEVICE_MEMORY)!r}: KIND}} with a KIND of --memory, such as cuda"
        )
    return found.pop()

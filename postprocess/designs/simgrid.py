# SPDX-License-Identifier: Apache-2.0
"""A design as a SimGrid platform in C++, so that a simulation can be compared with a prediction. The routes are those
of SimGrid's own zones."""

from math import inf
from string import Template

from coffeecup.postprocess.designs.design import Machine
from coffeecup.postprocess.designs.routes import Dragonfly, FatTree, Torus
from coffeecup.postprocess.show.words import printable

PLATFORM = Template("""\
// SPDX-License-Identifier: Apache-2.0
/* $title: written by coffeecup predict --write-platform from these numbers:
 * $stated
 * assumed: $assumed
 *
 * A host is a process; a node is a zone with PER_NODE of them, its memory, and ADAPTERS adapters. Names: $stem-0, ...
 * in the order of nodes. Bandwidths in byte/s, each way, but PROCESS_TOTAL both ways; 0 byte/s is no limit. Times in
 * s: SOFTWARE to send and again to receive a message, and NODE_LATENCY inside a node, or LATENCY and HOP for each link
 * of the network. SimGrid gives messages shares in proportion to 1 / latency of their paths. So the paths have the same
 * latency SAME, and a factor turns it into the real one. */
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

namespace s4u = simgrid::s4u;

static constexpr char MODEL_OF[] = "$title";
static constexpr unsigned HOSTS = $hosts, PER_NODE = $per_node, ADAPTERS = $adapters;
static constexpr double NIC = $nic, LINK = $link, MEMORY = $memory, PROCESS = $process;
static constexpr double PROCESS_TOTAL = $total;
static constexpr double LATENCY = $latency, NODE_LATENCY = $memory_latency, HOP = $hop, SAME = 1e-5;
static constexpr char SOFTWARE[] = "0:$half:0", MEMORY_BYTES[] = "$memory_bytes";
static const std::string OF_NODES = "$stem-node-";

static s4u::Link *limit(s4u::NetZone *zone, const std::string &name, double bandwidth, double latency = 0)
{
    return zone->create_link(name, bandwidth)->set_latency(latency)->seal();
}

static auto node(s4u::NetZone *network, const std::vector<unsigned long> &, unsigned long number)
{
    const std::string name = OF_NODES + std::to_string(number);
    auto *zone = s4u::create_full_zone(name);
    zone->set_parent(network);
    auto *gateway = zone->create_router(name + "-router");
    const s4u::LinkInRoute memory(limit(zone, name + "-memory", MEMORY, SAME));
    std::vector<s4u::LinkInRoute> out, in;
    for (unsigned i = 0; i < ADAPTERS; i++) {
        const std::string adapter = name + "-adapter-" + std::to_string(i);
        out.emplace_back(limit(zone, adapter + "-out", NIC, SAME));
        in.emplace_back(limit(zone, adapter + "-in", NIC));
    }
    std::vector<simgrid::kernel::routing::NetPoint *> processes;
    std::vector<std::vector<s4u::LinkInRoute>> sends(PER_NODE), receives(PER_NODE);
    for (unsigned i = 0; i < PER_NODE; i++) {
        const std::string process = "$stem-" + std::to_string(number * PER_NODE + i);
        auto *host = zone->create_host(process, 1e9);
        host->set_property("memory_bytes", MEMORY_BYTES);
        host->seal();
        processes.push_back(host->get_netpoint());
        if (PROCESS > 0) {
            sends[i].emplace_back(limit(zone, OF_NODES + process + "-out", PROCESS));
            receives[i].emplace_back(limit(zone, OF_NODES + process + "-in", PROCESS));
        }
        if (PROCESS_TOTAL > 0) {
            const s4u::LinkInRoute total(limit(zone, OF_NODES + process + "-total", PROCESS_TOTAL));
            sends[i].push_back(total);
            receives[i].push_back(total);
        }
    }
    const auto join = [](std::vector<s4u::LinkInRoute> first, const s4u::LinkInRoute &middle,
                         const std::vector<s4u::LinkInRoute> &last) {
        first.push_back(middle);
        first.insert(first.end(), last.begin(), last.end());
        return first;
    };
    for (unsigned i = 0; i < PER_NODE; i++) {
        const unsigned adapter = i * ADAPTERS / PER_NODE;
        zone->add_route(processes[i], gateway, nullptr, nullptr, join(sends[i], out[adapter], {}), false);
        zone->add_route(gateway, processes[i], nullptr, nullptr, join({}, in[adapter], receives[i]), false);
        for (unsigned j = 0; j < PER_NODE; j++)
            if (j != i)
                zone->add_route(processes[i], processes[j], nullptr, nullptr, join(sends[i], memory, receives[j]),
                                false);
    }
    zone->seal();
    return std::make_pair(zone->get_netpoint(), gateway);
}

static double latency_factor(double, const s4u::Host *, const s4u::Host *, const std::vector<s4u::Link *> &links,
                             const std::unordered_set<s4u::NetZone *> &)
{
    unsigned hops = 0;
    for (const auto *link : links)
        hops += link->get_name().compare(0, OF_NODES.size(), OF_NODES) != 0;
    const double latency = hops == 0 ? NODE_LATENCY : LATENCY + HOP * hops;
    return std::max(latency, 1e-12) / SAME; /* without any, a message would not be given its share */
}

extern "C" void load_platform(const s4u::Engine &)
{
    for (const char *step : {"smpi/os:", "smpi/ois:", "smpi/or:"})
        s4u::Engine::set_config(std::string(step) + SOFTWARE);
    auto *network = s4u::create_$zone;
    network->set_property("model_of", MODEL_OF);
    network->seal();
    network->get_network_model()->set_lat_factor_cb(latency_factor);
}
""")


class PlatformError(ValueError):
    """A machine that SimGrid cannot simulate as it was described; the message is one line."""


def platform(machine: Machine, stem: str) -> str:
    """The platform's source. `stem` is the name of its file without suffix: hosts are named after it. Raises
    PlatformError."""
    if not stem.replace("-", "").replace("_", "").isalnum() or not stem.isascii():
        raise PlatformError(f"hosts are named after the file: {printable(stem)!r} is not made of letters and digits")
    if machine.network.adaptive:
        raise PlatformError("SimGrid's routes are static; write the platform with static routing")
    design = machine.design
    stated = [f"{key} {value}" for key, value in ((f, getattr(design, f)) for f in design.__struct_fields__) if value]
    # quotes and line ends would end the string or the comment of C++ in which the name stands
    title = "".join(letter if letter.isalnum() or letter in " .,:+-_()" else "_" for letter in machine.name)
    return PLATFORM.substitute(
        title=title,
        stated=", ".join(stated).replace("*/", ""),
        assumed=", ".join(machine.assumed) or "nothing",
        stem=stem,
        hosts=design.processes,
        per_node=machine.per_node,
        adapters=machine.nics,
        nic=repr(machine.nic),
        link=repr(machine.network.link),
        memory=repr(1e15 if machine.shared_memory == inf else machine.shared_memory),
        process=repr(0.0 if machine.process == inf else machine.process),
        total=repr(0.0 if machine.process_total == inf else machine.process_total),
        latency=repr(machine.latency),
        memory_latency=repr(machine.memory_latency),
        hop=repr(machine.hop_latency),
        half=repr(machine.overhead / 2),
        memory_bytes=machine.memory_per_process,
        zone=_zone(machine, stem),
    )


def _zone(machine: Machine, stem: str) -> str:
    network, rest = machine.network, "{node, {}, {}}, LINK, 0, s4u::Link::SharingPolicy::SPLITDUPLEX)"
    match network:
        case FatTree():
            down, up, count = (
                f"{{{', '.join(map(str, numbers))}}}"
                for numbers in (network.children, network.parents, [1] * len(network.children))
            )
            return f'fatTree_zone("{stem}", nullptr, {{{len(network.children)}, {down}, {up}, {count}}}, {rest}'
        case Torus():
            if network.router != inf or network.curve:
                raise PlatformError(
                    "a torus with a limit of routers or along Hilbert's curve is not written as a platform"
                )
            return f'torus_zone("{stem}", nullptr, {{{", ".join(map(str, network.shape))}}}, {rest}'
        case Dragonfly():
            if network.cables > 1 or network.groups > network.routers:
                raise PlatformError(
                    "SimGrid has one cable between two groups, at the router with the number of the other group: "
                    "state cables 1, and at most as many groups as routers in a group"
                )
            topology = f"{{{network.groups}, 1}}, {{1, 1}}, {{{network.routers}, 1}}, {network.per_router}"
            return f'dragonfly_zone("{stem}", nullptr, {{{topology}}}, {rest}'
    raise TypeError(network)

// SPDX-License-Identifier: Apache-2.0
/* Cray T3E/900-512 at HLRS: a three-dimensional torus, a processor and a router at each node. "Table 1" is that of
 * Rabenseifner and Koniges, b_eff and b_eff_io. In C++, because SimGrid's XML cannot tell the processors of a torus
 * from its routers. A message passes OUTWARD and PORT of its processor, ROUTER of each node on its way, the links
 * between them, first along x, then y, then z, and PORT and INWARD of the processor that receives it.
 *
 * HOSTS, SIDE      8 x 8 x 8: 512 processors in a cube; the shape of the partitions in Table 1 is not published
 * order of ranks   along Hilbert's curve, assumed: a range of ranks fills a block, and ranks that follow each other are
 *                  neighbours on the torus
 * OUTWARD, INWARD  331.4 MByte/s: with SOFTWARE, 330 MByte/s in the ping-pong (Table 1, all rows of the machine)
 * PORT             421.1 MByte/s: what a processor sends and receives together. Table 1, 2 processes: with SOFTWARE,
 * each sends and receives 210 MByte/s at L_max. LINK             480 MByte/s each way: "a 6-way interconnect router
 * with a payload bandwidth of 480 MB/s in each direction" (Wikipedia, "Cray T3E") ROUTER           480 MByte/s for all
 * messages that start, pass or end at a node: the same figure. That a router carries no more than one of its links is
 * assumed; docs/simulated.md tells what comes out without it. SOFTWARE         6.5 us to send and 6.5 us to receive a
 * message: chosen so that 2 processes have the b_eff of Table 1, 91 MByte/s each. Between published latencies of MPI on
 * a T3E: 5 us (Ames Laboratory, MP_Lite on the Cray T3E) and 30 us (CSC, Cray T3E User's Guide). Hops take no time of
 * their own: SimGrid would give messages on long ways a smaller share of a bandwidth. MEMORY_BYTES     128 MiB: Table
 * 1, L_max = 1 MB */
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

namespace s4u = simgrid::s4u;

/* byte/s and s; the script "run" reads HOSTS and MODEL_OF, and takes the hosts to be t3e-0, t3e-1, ... in rank order */
static constexpr char MODEL_OF[] = "Cray T3E/900-512";
static constexpr unsigned HOSTS = 512, SIDE = 8;
static constexpr double OUTWARD = 331.4e6, INWARD = 331.4e6, PORT = 421.1e6, LINK = 480e6, ROUTER = 480e6;
static constexpr char SOFTWARE[] = "0:6.5e-6:0", MEMORY_BYTES[] = "134217728";
static_assert(SIDE * SIDE * SIDE == HOSTS, "a processor at each node");

using Place = std::vector<unsigned long>;

/* How far along Hilbert's curve through the cube a place is (J. Skilling, Programming the Hilbert curve, AIP Conference
 * Proceedings 707, 2004). */
static unsigned long along_curve(Place at)
{
    for (unsigned long bit = SIDE / 2; bit > 1; bit >>= 1)
        for (unsigned long &axis : at) {
            const unsigned long swapped = axis & bit ? 0 : (at[0] ^ axis) & (bit - 1);
            at[0] ^= axis & bit ? bit - 1 : swapped;
            axis ^= swapped;
        }
    at[1] ^= at[0];
    at[2] ^= at[1];
    unsigned long reversed = 0;
    for (unsigned long bit = SIDE / 2; bit > 1; bit >>= 1)
        reversed ^= at[2] & bit ? bit - 1 : 0;
    unsigned long index = 0;
    for (unsigned long bit = SIDE / 2; bit > 0; bit >>= 1)
        for (const unsigned long axis : at)
            index = index << 1 | ((axis ^ reversed) & bit ? 1 : 0);
    return index;
}

static s4u::Link *limit(s4u::NetZone *zone, const std::string &name, double bandwidth)
{
    return zone->create_link(name, bandwidth)->set_latency(0)->seal();
}

/* A processor, and the router that ties it to the torus. */
static auto node(s4u::NetZone *torus, const Place &place, unsigned long)
{
    const std::string name = "t3e-" + std::to_string(along_curve(place));
    auto *zone = s4u::create_full_zone(name + "-node");
    zone->set_parent(torus);
    auto *processor = zone->create_host(name, 1e9);
    processor->set_property("memory_bytes", MEMORY_BYTES);
    processor->seal();
    auto *router = zone->create_router(name + "-router");
    const s4u::LinkInRoute outward(limit(zone, name + "-outward", OUTWARD)),
        inward(limit(zone, name + "-inward", INWARD)), port(limit(zone, name + "-port", PORT));
    zone->add_route(processor->get_netpoint(), router, nullptr, nullptr, {outward, port}, false);
    zone->add_route(router, processor->get_netpoint(), nullptr, nullptr, {port, inward}, false);
    zone->seal();
    return std::make_pair(zone->get_netpoint(), router);
}

static s4u::Link *crossing(s4u::NetZone *torus, const Place &, unsigned long id)
{
    return limit(torus, "t3e-crossing-" + std::to_string(id), ROUTER);
}

extern "C" void load_platform(const s4u::Engine &)
{
    for (const char *step : {"smpi/os:", "smpi/ois:", "smpi/or:"})
        s4u::Engine::set_config(std::string(step) + SOFTWARE);
    auto *torus = s4u::create_torus_zone("t3e", nullptr, {SIDE, SIDE, SIDE}, {node, {}, crossing}, LINK, 0,
                                         s4u::Link::SharingPolicy::SPLITDUPLEX);
    torus->set_property("model_of", MODEL_OF);
    torus->seal();
}

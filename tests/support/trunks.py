# SPDX-License-Identifier: Apache-2.0
"""Two switches with a trunk of known bandwidth between them, for hosts of links.py; each sending host gets the same
share of the trunk.

TCP alone shares a link by chance: of two equal connections through a shaper with one queue, one had between 30 and 51 %
of it, by the length of the queue. So the trunk has a class of HTB for each host, with an equal rate and the whole trunk
as the limit. What a host does not use is for the others: if n hosts always have something to send, each gets 1 / n.

Reno sends whatever it has as long as no frame is lost. BBR, the default of some systems, estimates what a link carries,
and leaves a part of it unused after the share has changed."""

from links import root

# No queue ever drops a frame: in each, all that a host's connections may have sent fits.
QUEUE = 20_000


def split(made, rate, burst):
    """Moves the second half of the hosts to a switch of their own. The trunk carries `rate` byte/s each way."""
    switch = made.enter(made.switch)
    root(*switch, "ip", "link", "add", "bridge1", "type", "bridge")
    root(*switch, "ip", "link", "set", "bridge1", "mtu", "1500", "up")
    root(*switch, "ip", "link", "add", "trunk0", "type", "veth", "peer", "name", "trunk1")
    for device, bridge in (("trunk0", "bridge"), ("trunk1", "bridge1")):
        root(*switch, "ip", "link", "set", device, "master", bridge, "mtu", "1500", "up")
        share(made, device, rate, burst)
    for number, name in enumerate(made.hosts):
        root(*made.enter(name), "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=reno")
        # a class is served frame by frame, not by what the kernel sends at once
        root(*made.enter(name), "ip", "link", "set", "eth", "gso_max_segs", "1")
        if number >= len(made.hosts) // 2:
            root(*switch, "ip", "link", "set", f"port{number}", "master", "bridge1")


def share(made, device, rate, burst):
    def tc(*words):
        root(*made.enter(made.switch), "tc", *words)

    def add(parent, name, guaranteed):
        limits = ("rate", f"{8 * guaranteed:.0f}bit", "ceil", f"{8 * rate:.0f}bit", "burst", burst, "cburst", burst)
        tc("class", "add", "dev", device, "parent", parent, "classid", name, "htb", *limits, "quantum", "1514")

    tc("qdisc", "add", "dev", device, "root", "handle", "1:", "htb")
    add("1:", "1:ff", rate)
    for number in range(len(made.hosts)):
        name = f"1:{number + 1:x}"
        add("1:ff", name, rate / len(made.hosts))
        tc("qdisc", "add", "dev", device, "parent", name, "pfifo", "limit", QUEUE)
        match = ("match", "ip", "src", f"{made.address(number)}/32")
        tc("filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "u32", *match, "flowid", name)

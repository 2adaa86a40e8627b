# SPDX-License-Identifier: Apache-2.0
"""Which nodes exchange messages in a matching of b_eff: the same as in kernels/b_eff/nodes/matchings.c. Nodes and
groups are numbered from 0; RESTS stands for the partner of a node that rests."""

from collections.abc import Iterable, Sequence

from coffeecup.postprocess.benchmarks.random_orders import BITS, random_number, shuffled

RESTS = -1
_WITHIN, _ACROSS = 1, 2  # numbers of the seed's sequence; the random patterns have number 0


def tournament_rounds(players: int) -> int:
    """Rounds in which each player meets each other once."""
    return players + players % 2 - 1


def tournament(players: int, round_number: int) -> list[int]:
    """The opponent of each player in a round, from 0, by the circle method: the last one stays, the others move on."""
    places = tournament_rounds(players)
    opponent = [(2 * round_number - player) % places for player in range(places)]
    if players == places:
        return [RESTS if other == player else other for player, other in enumerate(opponent)]
    return [places if other == player else other for player, other in enumerate(opponent)] + [round_number % places]


def numbered(groups: Iterable[str]) -> list[int]:
    """The groups of the nodes, numbered in the order in which they occur first."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(group, len(numbers)) for group in groups]


def within(group: Sequence[int], seed: int, index: int) -> list[int]:
    """The partner of each node in random matching `index` inside each group. `group` has the group of each node, all 0
    if there are none."""
    partner = [RESTS] * len(group)
    members: dict[int, list[int]] = {}
    for node, number in enumerate(group):
        members.setdefault(number, []).append(node)
    for number, nodes in members.items():
        block, round_number = divmod(index, tournament_rounds(len(nodes)))
        order = shuffled(nodes, random_number(random_number(seed, _WITHIN) + block, number))
        for node, other in zip(order, tournament(len(order), round_number)):
            partner[node] = RESTS if other == RESTS else order[other]
    return partner


def across(group: Sequence[int], seed: int, index: int) -> list[int]:
    """The partner of each node in random matching `index` of nodes of different groups."""
    partner = [RESTS] * len(group)
    order = shuffled(range(len(group)), (random_number(seed, _ACROSS) + index) % BITS)
    ranks = {number: rank for rank, number in enumerate(dict.fromkeys(group[node] for node in order))}
    by_group = sorted(order, key=lambda node: ranks[group[node]])
    half = (len(group) + 1) // 2
    for a, b in zip(by_group, by_group[half:]):
        if group[a] != group[b]:
            partner[a], partner[b] = b, a
    return partner

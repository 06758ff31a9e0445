"""Kernels that tighten classes: a class takes one more label, and sets move so that it can.

For a node u below a label of a class, the members that have u *stay* and show it. The class then
lacks members, who *join* it from classes of more than k, each at what it pays there less what it
pays now. The others either *leave*, each for the class that is cheapest for it, or, with sets that
join them, *remain* as they were while those with u open a class of their own. A class whose
members all do no worse elsewhere is dissolved first. Whatever is done lowers the loss, by a sum
that is exact, because sets move one class at a time; no class falls below k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.sets.tighten.board_kernel import (
    GAIN,
    Members,
    describe,
    dissolve,
    leave,
    let_leave,
    link,
    look_around,
    set_up,
    transfer,
    unlink,
)
from sfumato.anonymize.sets.tighten.joining_kernel import (
    Joiners,
    fill_up,
    find_joiners,
    list_fitting,
    list_joiners,
)
from sfumato.compiler import njit, njit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray


OPTIONS = 8
"""How many labels are looked at for a class."""
HOPE = 0.05
"""What a set that joins a class is hoped to save, as a share of all items, before it is known."""


class Options(NamedTuple):
    """Nodes the class at hand may show: below which label, who stays, what that saves.

    `only` tells that those who stay have no other item of the label, which is then not shown.
    """

    node: NDArray[np.int64]
    above: NDArray[np.int64]
    only: NDArray[np.bool_]
    stay: NDArray[np.int64]
    saved: NDArray[np.float64]
    score: NDArray[np.float64]
    slot: NDArray[np.int64]
    held: NDArray[np.int64]
    under: NDArray[np.int64]


class Movers(NamedTuple):
    """Room for sets that are to move: who may fit, who may join and who will; marks per node."""

    joiners: Joiners
    back: Joiners
    fitting: NDArray[np.int64]
    joined: NDArray[np.int64]
    filled: NDArray[np.int64]
    chosen: NDArray[np.int64]
    taken: NDArray[np.int64]
    mark: NDArray[np.int8]
    seen: NDArray[np.int64]


@njit_inner
def list_options(size, members, options, shown, ground):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """List the nodes below labels of a class; return how many there are."""
    starts, parent, price = ground.starts, ground.parent, ground.price
    held, under, width = options.held, options.under, len(parent)
    found = 0
    for x in range(size):
        t = members.who[x]
        for p in range(starts[t], starts[t + 1]):
            v, u = shown[p], ground.items[p]
            held[v] += 1
            while u != v:
                under[u] += 1
                u = parent[u]
        for p in range(starts[t], starts[t + 1]):
            v, u = shown[p], ground.items[p]
            while u != v and under[u] > 0:
                only = under[u] == held[v]
                j = options.slot[u + width * only]
                if j < 0:
                    j = options.slot[u + width * only] = found
                    found += 1
                    options.node[j], options.above[j], options.only[j] = u, v, only
                    options.stay[j], options.saved[j] = 0, 0.0
                options.stay[j] |= 1 << x
                options.saved[j] += under[u] * (price[v] - price[u])
                under[u] = 0
                u = parent[u]
        for p in range(starts[t], starts[t + 1]):
            held[shown[p]] = 0
    for j in range(found):
        options.slot[options.node[j] + width * options.only[j]] = -1
    return found


@njit_inner
def count_stay(stay):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return how many stay."""
    many = 0
    while stay:
        stay &= stay - 1
        many += 1
    return many


@njit_inner
def cost_of_leaving(stay, size, members, board):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return how much more those pay who leave."""
    cost = 0.0
    for x in range(size):
        if not stay >> x & 1:
            cost += members.other[x] - board.pays[members.who[x]]
    return cost


@njit_inner
def rank_options(found, size, members, options, most, back, listed, board, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put the most promising options first; return how many are worth a look, at most `most`.

    ``back[:listed]`` are those who could join the ones
    that remain; none are listed where no class may be opened.
    """
    kept = 0
    for j in range(found):
        stay = count_stay(options.stay[j])
        if stay < 2:
            continue
        lost = cost_of_leaving(options.stay[j], size, members, board)
        fill = max(k - size + stay, 0)
        if fill <= listed:
            cost = 0.0
            for q in range(fill):
                cost += back.more[q]
            lost = min(lost, cost)
        score = options.saved[j] - lost + HOPE * max(k - stay, 0)
        if score < GAIN or (kept == most and score <= options.score[kept - 1]):
            continue
        node, above, only = options.node[j], options.above[j], options.only[j]
        stays, saved = options.stay[j], options.saved[j]
        kept = min(kept + 1, most)
        z = kept - 1
        while z > 0 and options.score[z - 1] < score:
            options.node[z], options.above[z] = options.node[z - 1], options.above[z - 1]
            options.only[z], options.stay[z] = options.only[z - 1], options.stay[z - 1]
            options.saved[z], options.score[z] = options.saved[z - 1], options.score[z - 1]
            z -= 1
        options.node[z], options.above[z], options.only[z] = node, above, only
        options.stay[z], options.saved[z], options.score[z] = stays, saved, score
    return kept


@njit_inner
def show_below(t, j, options, board, shown, ground):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Show a set's items under the new label by it."""
    node, above = options.node[j], options.above[j]
    for p in range(ground.starts[t], ground.starts[t + 1]):
        if shown[p] == above:
            v = ground.items[p]
            while v < node:
                v = ground.parent[v]
            if v == node:
                shown[p] = node
                board.pays[t] += ground.price[node] - ground.price[above]


@njit_inner
def open_class(c, stay, size, members, chosen, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Move those who stay to a class of their own, for whom others join; return its number."""
    first = board.head[c]
    for q in range(max(ground.k - size + count_stay(stay), 0)):
        transfer(chosen[q], c, first, board, shown, ground, mark)
    board.tally[1] -= 1
    new = board.free[board.tally[1]]
    board.live[board.tally[0]] = new
    board.tally[0] += 1
    for x in range(size):
        if stay >> x & 1:
            unlink(members.who[x], board)
            link(members.who[x], new, board)
    return new


@njit(cache=True)
def choose_option(c, size, members, options, movers, board, shown, ground, clues, opening):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the option that saves most, −1 for none, and whether a class is opened for it."""
    k = ground.k
    listed = -1
    fitting = movers.fitting[: list_fitting(c, movers.fitting, board, k)]
    if opening:
        listed = list_joiners(c, fitting, movers.back, board, shown, ground, movers.mark)
    found = list_options(size, members, options, shown, ground)
    found = rank_options(found, size, members, options, OPTIONS, movers.back, listed, board, k)
    best, choice, opens = GAIN, -1, False
    for j in range(found):
        if options.score[j] <= best:
            break
        stay = count_stay(options.stay[j])
        need, fill = max(k - stay, 0), max(k - size + stay, 0)
        gain = options.saved[j]
        if need > 0:
            gain -= find_joiners(c, j, need, fitting, options, movers, board, shown, ground, clues)
        if gain <= best:
            continue
        lost = cost_of_leaving(options.stay[j], size, members, board)
        cost = np.inf
        if fill <= listed:
            cost = fill_up(
                fill,
                need,
                movers.joiners,
                movers.back,
                listed,
                movers.filled,
                movers.taken,
                board,
                k,
            )
        if gain - min(lost, cost) > best:
            best, choice, opens = gain - min(lost, cost), j, cost < lost
            movers.joined[:need] = movers.joiners.who[:need]
            movers.chosen[:fill] = movers.filled[:fill]
    return choice, opens


@njit(cache=True)
def tighten(buckets, begins, class_of, shown, ground, clues, largest, opening):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901
    """Tighten classes, bucket by bucket: ``buckets[begins[b]:begins[b + 1]]`` are those of b.

    Sets move only between classes of one bucket. Classes of more than `largest` sets are left as
    they are, but for sets that move to and from them. At most `OPTIONS` options of a class are
    looked at. Classes are opened only where `opening` says so. `class_of` and `shown` are kept up
    to date.
    """
    k, width = ground.k, len(ground.parent)
    board = set_up(class_of, shown, ground, clues)
    members = Members(np.empty(largest, np.int64), np.empty(largest, np.int64), np.empty(largest))
    options = Options(
        np.empty(2 * width, np.int64), np.empty(2 * width, np.int64),
        np.empty(2 * width, np.bool_), np.empty(2 * width, np.int64), np.empty(2 * width),
        np.empty(2 * width), np.full(2 * width, -1, np.int64), np.zeros(width, np.int64),
        np.zeros(width, np.int64),
    )  # fmt: skip
    movers = Movers(
        Joiners(np.empty(k, np.int64), np.empty(k)),
        Joiners(np.empty(2 * k, np.int64), np.empty(2 * k)), np.empty(len(class_of), np.int64),
        np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k, np.int64),
        np.zeros(len(board.head), np.int64), np.zeros(width, np.int8),
        np.zeros(width + 1, np.int64),
    )  # fmt: skip
    mark = movers.mark
    mark[width - 1] = 2
    for b in range(len(begins) - 1):
        board.tally[0] = begins[b + 1] - begins[b]
        board.live[: board.tally[0]] = buckets[begins[b] : begins[b + 1]]
        i = 0
        while i < board.tally[0]:
            c = board.live[i]
            i += 1
            if board.size[c] > largest:
                continue
            if look_around(c, members, board, shown, ground, mark) < -GAIN:
                i -= 1
                dissolve(i, members, board, shown, ground, mark)
                continue
            let_leave(c, members, board, shown, ground, mark)
            size = board.size[c]
            choice, opens = choose_option(
                c, size, members, options, movers, board, shown, ground, clues, opening
            )
            if choice < 0:
                continue
            stay = options.stay[choice]
            if opens:
                c = open_class(c, stay, size, members, movers.chosen, board, shown, ground, mark)
            for x in range(size):
                if stay >> x & 1:
                    show_below(members.who[x], choice, options, board, shown, ground)
                elif not opens:
                    leave(x, members, board, shown, ground, mark)
            first = board.head[c]
            for q in range(max(k - count_stay(stay), 0)):
                transfer(movers.joined[q], c, first, board, shown, ground, mark)
            describe(c, board, shown, ground, clues)

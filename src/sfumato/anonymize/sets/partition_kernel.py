"""Kernels of the partition: the best labels for a class of sets, and how to divide a class.

A class shows one set of nodes for all its members. For given members the cheapest such set is found
exactly, from the leaves up: a node that every member has an item under can be shown, at its price
for every item below it; any other node cannot, nor can anything below it, so what is below is
deleted. A node is shown where that is cheaper than the best its children can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Arrays(NamedTuple):
    """Sets as compressed rows, `items[starts[t]:starts[t + 1]]`, and the tree of their items.

    `parent[v]` is the node above v (the root is its own), `price[v]` what an item shown as v pays.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    parent: NDArray[np.int32]
    price: NDArray[np.float64]


class MetNodes(NamedTuple):
    """What is known of the nodes above the items of one class, which `nodes` lists.

    `occ[v]` items of the class are below v, `cov[v]` members have some, none has fewer than
    `low[v]` if all have any, `show[v]` tells whether v is worth showing, `below[v]` is its cost;
    `seen` is scratch.
    """

    occ: NDArray[np.int64]
    cov: NDArray[np.int64]
    low: NDArray[np.int64]
    seen: NDArray[np.int64]
    below: NDArray[np.float64]
    show: NDArray[np.bool_]
    nodes: NDArray[np.int64]


@njit(cache=True)
def _no_nodes(width):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return room for as many nodes as there are, none of them met."""
    return MetNodes(
        np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.int64),
        np.zeros(width, np.int64), np.zeros(width, np.float64), np.zeros(width, np.bool_),
        np.zeros(width, np.int64),
    )  # fmt: skip


@njit(cache=True)
def best_labels(members, data, bag, met_nodes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901
    """Find the cheapest labels of a class; return its cost and how many nodes were met.

    They are the first of `met_nodes.nodes`; what is known of them stands beside. Nodes are numbered
    from the leaves up, so sorted they come children first, and a node's cost is complete when its
    turn comes. The caller clears `occ`, by which met nodes are told.
    """
    starts, items, parent, price = data
    occ, cov, low, seen, below, show, nodes = met_nodes
    met = 0
    count = np.int64(len(members))
    for x in range(count):
        t = members[x]
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            while True:
                if occ[v] == 0:
                    nodes[met] = v
                    met += 1
                    cov[v] = 0
                    seen[v] = -1
                    low[v] = np.int64(2**31)
                    below[v] = 0.0
                occ[v] += 1
                if seen[v] != x:
                    seen[v] = x
                    cov[v] += 1
                if parent[v] == v:
                    break
                v = parent[v]
    if bag:
        _fewest(members, starts, items, parent, seen, low)
    nodes[:met].sort()
    for i in range(met):
        v = nodes[i]
        cost = float(occ[v])
        show[v] = False
        if cov[v] == count:
            kept = low[v] * count if bag else occ[v]
            shown = price[v] * kept + (occ[v] - kept)
            deeper = below[v] if price[v] > 0.0 else cost
            show[v] = shown < deeper
            cost = min(shown, deeper)
        below[v] = cost
        if parent[v] != v:
            below[parent[v]] += cost
    return below[nodes[met - 1]] if met else 0.0, met


@njit(cache=True)
def _fewest(members, starts, items, parent, seen, low):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901
    """Set `low[v]` to the least number of items below v in any member that has some."""
    for x in range(len(members)):
        t = members[x]
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            while True:
                seen[v] = 0
                if parent[v] == v:
                    break
                v = parent[v]
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            while True:
                seen[v] += 1
                if parent[v] == v:
                    break
                v = parent[v]
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            while True:
                low[v] = min(low[v], seen[v])
                if parent[v] == v:
                    break
                v = parent[v]


@njit(cache=True)
def group_rows(pattern, rank, held, k, stays):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Mark the rows that keep the node, since fewer than k share their pattern; return how many.

    Where those are fewer than k themselves, rows of larger groups that hold least below the node
    keep them company, if there are enough to spare.
    """
    n = len(rank)
    size = np.zeros(n, np.int64)  # of the group of each row, at the rank of its first
    lead = np.empty(n, np.int64)
    small = spare = 0
    x = 0
    while x < n:
        y = x
        while y < n and pattern[rank[y]] == pattern[rank[x]]:
            lead[rank[y]] = x
            y += 1
        size[x] = y - x
        if y - x < k:
            small += y - x
            for i in range(x, y):
                stays[rank[i]] = True
        else:
            spare += y - x - k
        x = y
    if 0 < small < k <= small + spare:
        for x in np.argsort(held[:n]):
            if small < k and not stays[x] and size[lead[x]] > k:
                size[lead[x]] -= 1
                stays[x] = True
                small += 1
    return small


@njit(cache=True)
def divide(order, starts, items, parent, price, k, bag, keys):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Divide the sets in `order` (permuted in place) into classes of at least k.

    Returns where classes begin and end in `order`, and the sets that were put aside. All members
    of a class show the same open nodes. The costliest is opened: members are grouped by which of
    its children they have (for bags: how many under each), told by sums of random `keys` per node.
    Groups of at least k become classes; the others together keep the node, closed for good. Where
    they are fewer than k, others keep them company, or they are put aside.
    """
    width = len(parent)
    occ = np.zeros(width, np.int64)
    met_nodes = np.empty(width, np.int64)
    n = len(order)
    shown = np.full(len(items), width - 1, np.int32)
    closed = np.zeros(len(items), np.bool_)
    begins, ends = np.empty(n // max(k, 1) + 1, np.int64), np.empty(n // max(k, 1) + 1, np.int64)
    made = put = 0
    aside = np.empty(n, np.int64)
    pattern = np.zeros(n, np.uint64)
    held = np.zeros(n, np.int64)
    stack = [(0, n)]
    while len(stack) > 0:
        b, e = stack.pop()
        met = 0
        for x in range(b, e):
            t = order[x]
            for p in range(starts[t], starts[t + 1]):
                if not closed[p]:
                    v = shown[p]
                    if occ[v] == 0:
                        met_nodes[met] = v
                        met += 1
                    occ[v] += 1
        v, cost = -1, 0.0
        for i in range(met):
            if price[met_nodes[i]] * occ[met_nodes[i]] > cost:
                v, cost = met_nodes[i], price[met_nodes[i]] * occ[met_nodes[i]]
            occ[met_nodes[i]] = 0
        if v < 0:
            begins[made], ends[made] = b, e
            made += 1
            continue
        for x in range(b, e):
            t = order[x]
            key = np.uint64(0)
            last = -1
            number = 0
            for p in range(starts[t], starts[t + 1]):
                if shown[p] == v and not closed[p]:
                    c = items[p]
                    while parent[c] != v:
                        c = parent[c]
                    if bag or c != last:
                        key += keys[c]
                    last = c
                    number += 1
            pattern[x - b] = key
            held[x - b] = number
        rank = np.argsort(pattern[: e - b])
        members = order[b:e].copy()
        stays = np.zeros(e - b, np.bool_)
        small = group_rows(pattern, rank, held, k, stays)
        if 0 < small < k:
            for x in range(e - b):
                if stays[x]:
                    aside[put] = members[x]
                    put += 1
        place = b
        x = 0
        while x < e - b:
            y, begun = x, place
            while y < e - b and pattern[rank[y]] == pattern[rank[x]]:
                if not stays[rank[y]]:
                    t = members[rank[y]]
                    order[place] = t
                    place += 1
                    for p in range(starts[t], starts[t + 1]):
                        if shown[p] == v and not closed[p]:
                            c = items[p]
                            while parent[c] != v:
                                c = parent[c]
                            shown[p] = c
                y += 1
            if place > begun:
                stack.append((begun, place))
            x = y
        if small < k:
            continue
        left = np.empty(small, np.int64)
        i = 0
        for x in range(e - b):
            if stays[x]:
                left[i] = members[x]
                order[place + i] = members[x]
                i += 1
        for i in range(small):
            t = left[i]
            for p in range(starts[t], starts[t + 1]):
                if shown[p] == v:
                    closed[p] = True
        stack.append((place, place + small))
    return begins[:made], ends[:made], aside[:put]


@njit(cache=True)
def list_labels(order, begins, ends, starts, items, parent, price, bag):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the cheapest labels of every class as compressed rows, with how often each stands."""
    width = len(parent)
    data, met_nodes = Arrays(starts, items, parent, price), _no_nodes(width)
    occ, cov, low, _, _, show, nodes = met_nodes
    found = np.zeros(len(begins) + 1, np.int64)
    labels, copies = np.empty(len(items) + 1, np.int64), np.empty(len(items) + 1, np.int64)
    filled = 0
    for c in range(len(begins)):
        _, met = best_labels(order[begins[c] : ends[c]], data, bag, met_nodes)
        for i in range(met - 1, -1, -1):  # parents first: a shown node hides what is below it
            v = nodes[i]
            hidden = parent[v] != v and cov[parent[v]] < 0
            if not hidden and show[v]:
                labels[filled] = v
                copies[filled] = low[v] if bag else 1
                filled += 1
            if hidden or show[v]:
                cov[v] = -1
        for i in range(met):
            occ[nodes[i]] = 0
        found[c + 1] = filled
    return found, labels[:filled].copy(), copies[:filled].copy()


@njit(cache=True)
def label(order, begins, ends, starts, items, parent, price, bag, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write the node of every item of every class to `out`, −1 where it is deleted."""
    width = len(parent)
    data, met_nodes = Arrays(starts, items, parent, price), _no_nodes(width)
    occ, _, low, seen, _, show, nodes = met_nodes
    for c in range(len(begins)):
        members = order[begins[c] : ends[c]]
        _, met = best_labels(members, data, bag, met_nodes)
        for t in members:
            for i in range(met):
                seen[nodes[i]] = 0
            for p in range(starts[t], starts[t + 1]):
                v, top = items[p], -1
                while True:  # the highest node worth showing wins
                    if show[v]:
                        top = v
                    if parent[v] == v:
                        break
                    v = parent[v]
                if top >= 0 and bag:
                    seen[top] += 1
                    top = top if seen[top] <= low[top] else -1
                out[p] = top
        for i in range(met):
            occ[nodes[i]] = 0

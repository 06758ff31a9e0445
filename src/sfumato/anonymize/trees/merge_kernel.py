"""Kernels: what it costs to merge a tree into a class, and which vertices meet.

A class of s people shows one tree a; a further tree b is merged into it. Vertices that meet show
the lowest common ancestors of their labels; whatever meets nothing is left out for everybody. The
cost is what the s + 1 people lose more than before: s·(loss of a's vertex now − before) + loss of
b's.

Two vertices that meet never cost more than leaving both out, so as many children meet as can; which
ones is an assignment problem (Kuhn 1955, in the form with potentials), solved exactly up to `EXACT`
pairs and greedily beyond, form by form. Costs are worked out from the lowest types up, once per
pair of forms.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiler import njit

EXACT = 40_000
"""Largest number of pairs of children for which the best assignment is sought."""


@njit(cache=True)
def _common(model, a, b):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the lowest common ancestor of two nodes."""
    while a != b:
        if model.depth[a] >= model.depth[b]:
            a = model.parent[a]
        else:
            b = model.parent[b]
    return a


@njit(cache=True)
def _label_cost(model, t, a, b, u, v, s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return what the labels of two vertices lose by being shown alike."""
    cost = 0.0
    for j in range(model.labels[t]):
        x = a.marks[u, j]
        met = model.loss[_common(model, x, b.marks[v, j])]
        cost += (s + 1) * met - s * model.loss[x]
    return cost


@njit(cache=True)
def assign(cost):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912 - one loop
    """Return for each row its column, each column once, at the least total; rows ≤ columns."""
    n, m = cost.shape
    u, v = np.zeros(n + 1), np.zeros(m + 1)
    taken = np.zeros(m + 1, dtype=np.int64)
    way = np.zeros(m + 1, dtype=np.int64)
    for i in range(1, n + 1):
        taken[0] = i
        j0 = 0
        least = np.full(m + 1, np.inf)
        used = np.zeros(m + 1, dtype=np.bool_)
        while True:
            used[j0] = True
            i0 = taken[j0]
            delta, j1 = np.inf, 0
            for j in range(1, m + 1):
                if not used[j]:
                    slack = cost[i0 - 1, j - 1] - u[i0] - v[j]
                    if slack < least[j]:
                        least[j] = slack
                        way[j] = j0
                    if least[j] < delta:
                        delta, j1 = least[j], j
            for j in range(m + 1):
                if used[j]:
                    u[taken[j]] += delta
                    v[j] -= delta
                else:
                    least[j] -= delta
            j0 = j1
            if taken[j0] == 0:
                break
        while j0 != 0:
            taken[j0] = taken[way[j0]]
            j0 = way[j0]
    column = np.zeros(n, dtype=np.int64)
    for j in range(1, m + 1):
        if taken[j] > 0:
            column[taken[j] - 1] = j - 1
    return column


@njit(cache=True)
def _runs(form, first, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the children in the order of their forms, and where each form begins."""
    order = np.argsort(form[first:last], kind="mergesort")
    begin = np.zeros(last - first + 1, dtype=np.int64)
    forms = 0
    for i in range(len(order)):
        if i == 0 or form[first + order[i]] != form[first + order[i - 1]]:
            begin[forms] = i
            forms += 1
    begin[forms] = last - first
    return order, begin[: forms + 1]


@njit(cache=True)
def _meet_many(a, b, s, table, at, width, ends):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Assign many children: the forms that save most first, as many as there are of both."""
    first_a, last_a, first_b, last_b, form_a, form_b = ends
    mine, begin_a = _runs(a.form, first_a, last_a)
    theirs, begin_b = _runs(b.form, first_b, last_b)
    rows, columns = len(begin_a) - 1, len(begin_b) - 1
    saving = np.empty(rows * columns)
    for i in range(rows):
        x = first_a + mine[begin_a[i]]
        for j in range(columns):
            y = first_b + theirs[begin_b[j]]
            paid = table[at + (a.form[x] - form_a) * width + (b.form[y] - form_b)]
            saving[i * columns + j] = paid - s * a.rest[x] - b.size[y]
    partner = np.full(last_a - first_a, -1, dtype=np.int64)
    next_a, next_b = begin_a[:-1].copy(), begin_b[:-1].copy()
    for place in np.argsort(saving, kind="mergesort"):
        i, j = place // columns, place % columns
        while next_a[i] < begin_a[i + 1] and next_b[j] < begin_b[j + 1]:
            partner[mine[next_a[i]]] = theirs[next_b[j]]
            next_a[i] += 1
            next_b[j] += 1
    return partner


@njit(cache=True)
def _meet(a, b, s, table, at, width, ends):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Assign the children in `ends` of two vertices to each other; return a's partner per child.

    The saving of a pair is what leaving both out would cost more; −1 is left out.
    """
    first_a, last_a, first_b, last_b, form_a, form_b = ends
    na, nb = last_a - first_a, last_b - first_b
    if na * nb > EXACT:
        return _meet_many(a, b, s, table, at, width, ends)
    flip = na > nb
    saving = np.empty((min(na, nb), max(na, nb)))
    for i in range(na):
        for j in range(nb):
            x, y = first_a + i, first_b + j
            paid = table[at + (a.form[x] - form_a) * width + (b.form[y] - form_b)]
            worth = paid - s * a.rest[x] - b.size[y]
            if flip:
                saving[j, i] = worth
            else:
                saving[i, j] = worth
    column = assign(saving)
    partner = np.full(na, -1, dtype=np.int64)
    for r in range(len(column)):
        if flip:
            partner[column[r]] = r
        else:
            partner[r] = column[r]
    return partner


@njit(cache=True)
def _children_cost(model, a, b, s, table, at, width, c, ends):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return what the children of one type of two vertices cost."""
    first_a, last_a, first_b, last_b, form_a, form_b = ends
    na, nb = last_a - first_a, last_b - first_b
    if model.bare[c]:
        return float(s * (na - nb)) if na > nb else float(nb - na)
    cost = 0.0
    if na > 0 and nb > 0:
        partner = _meet(a, b, s, table, at, width, ends)
    else:
        partner = np.full(na, -1, dtype=np.int64)
    for j in range(nb):
        cost += b.size[first_b + j]
    for i in range(na):
        x = first_a + i
        if partner[i] < 0:
            cost += s * a.rest[x]
        else:
            y = first_b + partner[i]
            cost += table[at + (a.form[x] - form_a) * width + (b.form[y] - form_b)] - b.size[y]
    return cost


@njit(cache=True)
def _places(a, b):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return where the costs of each type begin in the table, and its length at the end."""
    at = np.zeros(len(a.forms), dtype=np.int64)
    for t in range(len(a.forms) - 1):
        at[t + 1] = at[t] + (a.forms[t + 1] - a.forms[t]) * (b.forms[t + 1] - b.forms[t])
    return at


@njit(cache=True)
def cost_table(model, a, b, s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the cost of every pair of forms of the same type; the roots' comes first."""
    at = _places(a, b)
    table = np.zeros(at[-1])
    for t in range(len(model.slots) - 1, -1, -1):
        if model.bare[t]:
            continue
        width = b.forms[t + 1] - b.forms[t]
        for f in range(a.forms[t], a.forms[t + 1]):
            u = a.sample[f]
            for g in range(b.forms[t], b.forms[t + 1]):
                v = b.sample[g]
                cost = _label_cost(model, t, a, b, u, v, s)
                for k in range(model.slots[t]):
                    c = model.child[t, k]
                    ends = (
                        a.low[u, k], a.high[u, k], b.low[v, k], b.high[v, k],
                        a.forms[c], b.forms[c],
                    )  # fmt: skip
                    cost += _children_cost(
                        model, a, b, s, table, at[c], b.forms[c + 1] - b.forms[c], c, ends
                    )
                table[at[t] + (f - a.forms[t]) * width + (g - b.forms[t])] = cost
    return table


@njit(cache=True)
def merge_cost(model, a, b, s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what merging tree b into a class of s people with tree a costs."""
    return cost_table(model, a, b, s)[0]


@njit(cache=True)
def meeting(model, a, b, s):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return pairs of vertices that meet, the roots first, parents before children."""
    table, at = cost_table(model, a, b, s), _places(a, b)
    most = min(len(a.up), len(b.up))
    pairs = np.empty((most, 4), dtype=np.int64)  # of a, of b, place of the parents' pair, type
    pairs[0] = (0, 0, -1, 0)
    done, known = 0, 1
    while done < known:
        u, v, t = pairs[done, 0], pairs[done, 1], pairs[done, 3]
        for k in range(model.slots[t]):
            c = model.child[t, k]
            first_a, last_a, first_b, last_b = a.low[u, k], a.high[u, k], b.low[v, k], b.high[v, k]
            na, nb = last_a - first_a, last_b - first_b
            if na == 0 or nb == 0:
                continue
            if model.bare[c]:
                partner = np.full(na, -1, dtype=np.int64)
                for i in range(min(na, nb)):
                    partner[i] = i
            else:
                ends = (first_a, last_a, first_b, last_b, a.forms[c], b.forms[c])
                width = b.forms[c + 1] - b.forms[c]
                partner = _meet(a, b, s, table, at[c], width, ends)
            for i in range(na):
                if partner[i] >= 0:
                    pairs[known] = (first_a + i, first_b + partner[i], done, np.int64(c))
                    known += 1
        done += 1
    return pairs[:known]


@njit(cache=True)
def common_marks(model, a, b, pairs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the labels that pairs of vertices show together."""
    marks = np.full((len(pairs), a.marks.shape[1]), -1, dtype=np.int32)
    for p in range(len(pairs)):
        for j in range(model.labels[pairs[p, 3]]):
            marks[p, j] = _common(model, a.marks[pairs[p, 0], j], b.marks[pairs[p, 1], j])
    return marks

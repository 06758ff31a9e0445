"""Loops behind orders of users: the Hilbert curve, groups filled in turn, boxes, neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@njit(cache=True)
def along_the_curve(x: Ints, y: Ints, bits: int) -> Ints:
    """Return the distance along the curve of cells (x, y); both arrays are used up."""
    found = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        a, b = x[i], y[i]
        for level in range(bits - 1, -1, -1):
            right, above = (a >> level) & 1, (b >> level) & 1
            found[i] = (found[i] << 2) | ((3 * right) ^ above)
            if above == 0:  # turn the quadrant
                if right == 1:
                    a, b = ~a, ~b
                a, b = b, a
    return found


@njit(cache=True)
def fill(k: Ints) -> Ints:
    """Return group numbers for users in some order: a group ends when its largest k is reached."""
    n = len(k)
    group = np.zeros(n, np.int64)
    number, size, most = 0, 0, 0
    for i in range(n):
        group[i] = number
        size += 1
        most = max(most, k[i])
        if size >= most:
            number += 1
            size, most = 0, 0
    begin, need = n - size, most
    while n - begin < need and begin > 0:  # too few are left: they join those before
        begin -= 1
        need = max(need, k[begin])
        while begin > 0 and group[begin - 1] == group[begin]:
            begin -= 1
            need = max(need, k[begin])
    for p in range(begin, n):
        group[p] = group[begin]
    return group


@njit(cache=True)
def boxes_around(places: Floats, group: Ints, groups: int) -> Floats:
    """Return the box of each group: low x, high x, low y, high y."""
    found = np.empty((groups, 4))
    found[:, 0::2] = np.inf
    found[:, 1::2] = -np.inf
    for i in range(len(group)):
        box = found[group[i]]
        x, y = places[i, 0], places[i, 1]
        box[0], box[1] = min(box[0], x), max(box[1], x)
        box[2], box[3] = min(box[2], y), max(box[3], y)
    return found


@njit(cache=True)
def nearest_boxes(x: Floats, y: Floats, k: Ints, order: Ints) -> Floats:
    """Return for each user the box around her and her k − 1 nearest; `order` is that of x."""
    n = len(x)
    boxes = np.empty((n, 4))
    most = int(k.max())
    best, who = np.empty(most), np.empty(most, np.int64)
    for p in range(n):
        i = order[p]
        wanted = k[i]
        best[:wanted] = np.inf
        best[0] = 0.0
        who[0] = i
        left, right = p - 1, p + 1
        while left >= 0 or right < n:
            to_left = x[i] - x[order[left]] if left >= 0 else np.inf
            to_right = x[order[right]] - x[i] if right < n else np.inf
            if min(to_left, to_right) ** 2 >= best[wanted - 1]:
                break
            if to_left <= to_right:
                j = order[left]
                left -= 1
            else:
                j = order[right]
                right += 1
            away = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2
            if away >= best[wanted - 1]:
                continue
            at = wanted - 1
            while at > 1 and best[at - 1] > away:
                best[at] = best[at - 1]
                who[at] = who[at - 1]
                at -= 1
            best[at] = away
            who[at] = j
        boxes[i, 0] = boxes[i, 1] = x[i]
        boxes[i, 2] = boxes[i, 3] = y[i]
        for q in range(wanted):
            j = who[q]
            boxes[i, 0], boxes[i, 1] = min(boxes[i, 0], x[j]), max(boxes[i, 1], x[j])
            boxes[i, 2], boxes[i, 3] = min(boxes[i, 2], y[j]), max(boxes[i, 3], y[j])
    return boxes

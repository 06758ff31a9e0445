"""Traffic that was never sent: connections of five classes, 41 features each, to try a detector on.

Made in the manner of NSL-KDD, so that :mod:`sfumato.attack.models.intrusion` reads it: a flood
opens many half-open connections, a probe many that are refused, a break-in looks almost like work,
and every fifth attack hides: most of what would give it away looks like other traffic. The numbers
come from a seeded generator: right for examples, for nothing that is released.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SHARES = {"normal": 0.55, "neptune": 0.2, "smurf": 0.08, "satan": 0.06, "portsweep": 0.05,
          "guess_passwd": 0.03, "warezclient": 0.02, "buffer_overflow": 0.01}  # fmt: skip
"""How often each attack occurs."""
HIDDEN = 0.2


def traffic(n: int = 2_000, seed: int = 0) -> list[list[Any]]:
    """Return n connections: 41 features and the name of the attack, 'normal' if none.

    >>> from sfumato.attack.models.intrusion import read_connections
    >>> len(read_connections(traffic(50)))
    50
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    names = generator.choice(list(SHARES), size=n, p=list(SHARES.values()))
    return [_connection(str(name), generator) for name in names]


def _connection(name: str, generator: np.random.Generator) -> list[Any]:
    row: dict[int, Any] = dict.fromkeys(range(41), 0)

    def spread(mean: float, width: float = 0.5) -> int:
        return int(mean * generator.lognormal(0, width))

    def rate(mean: float) -> float:
        return float(np.clip(generator.normal(mean, 0.12), 0, 1).round(2))

    service = str(generator.choice(["http", "smtp", "ftp_data", "domain_u"]))
    row.update({1: "tcp", 2: service, 3: "SF", 4: spread(300), 5: spread(2_500, 1), 11: 1,
                22: spread(6), 23: spread(6),
                28: rate(0.95), 31: min(spread(150), 255), 32: min(spread(180), 255),
                33: rate(0.85)})  # fmt: skip
    usual = dict(row)
    _CHANGES.get(name, lambda _row, _spread, _rate: None)(row, spread, rate)
    if generator.random() < HIDDEN:
        row.update({place: usual[place] for place in usual if generator.random() < 0.8})
    return [*row.values(), name]


def _flood(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({2: "private", 3: "S0", 4: 0, 5: 0, 11: 0, 22: min(spread(200), 511),
                23: spread(12), 24: rate(0.95), 25: rate(0.95), 28: rate(0.1), 31: 255,
                32: spread(12), 33: rate(0.06), 37: rate(0.95), 38: rate(0.95)})  # fmt: skip


def _echoes(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({1: "icmp", 2: "ecr_i", 4: 1_032, 5: 0, 11: 0, 22: min(spread(450, 0.1), 511),
                23: min(spread(450, 0.1), 511), 31: 255, 32: 255, 33: rate(1),
                35: rate(1)})  # fmt: skip


def _scan(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({2: "other", 3: "REJ", 4: 0, 5: 0, 11: 0, 22: spread(100), 23: spread(3),
                26: rate(0.8), 27: rate(0.8), 28: rate(0.1), 29: rate(0.7), 33: rate(0.05),
                34: rate(0.6), 39: rate(0.8), 40: rate(0.7)})  # fmt: skip


def _sweep(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({2: "private", 3: "RSTR", 4: 0, 5: 0, 11: 0, 22: spread(2), 23: spread(2),
                32: spread(2), 33: rate(0.02), 34: rate(0.5), 35: rate(0.6),
                39: rate(0.9)})  # fmt: skip


def _guesses(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({0: spread(3), 2: "telnet", 3: "RSTO", 4: spread(125, 0.1), 5: spread(180, 0.1),
                9: 1, 10: 1, 11: 0, 22: spread(2), 23: spread(2), 26: rate(0.3),
                32: spread(30)})  # fmt: skip


def _downloads(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({0: spread(60), 2: "ftp", 4: spread(600), 9: spread(20, 0.2), 21: 1,
                32: spread(40), 33: rate(0.4)})  # fmt: skip


def _overflow(row: dict[int, Any], spread: Any, rate: Any) -> None:
    row.update({0: spread(120), 2: "telnet", 4: spread(1_500), 5: spread(4_000), 9: spread(3),
                12: spread(2), 13: 1, 15: spread(2), 16: spread(2), 32: spread(5),
                33: rate(0.1)})  # fmt: skip


_CHANGES = {"neptune": _flood, "smurf": _echoes, "satan": _scan, "portsweep": _sweep,
            "guess_passwd": _guesses, "warezclient": _downloads,
            "buffer_overflow": _overflow}  # fmt: skip

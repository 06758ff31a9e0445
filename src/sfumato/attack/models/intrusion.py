"""Intrusion detection: connections in five classes, and what a detector sees of them.

Data in the manner of NSL-KDD: 41 features of a connection, an attack's name, five classes (benign,
dos, probe, r2l, u2r). *Static* features describe the connection and its content; *dynamic* ones
count what happened in the last two seconds and the last hundred connections. Cells are scaled to
[0, 1] by ranges declared here, not by what the data hold; counts and bytes on a logarithmic scale.

A detector is judged by the recall of every class and their macro F1, since most connections are
benign, and apart from that on attacks that have been seen in training: others cannot be learnt.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CLASSES = ("benign", "dos", "probe", "r2l", "u2r")

ATTACKS = {
    "benign": "normal",
    "dos": "back land neptune pod smurf teardrop apache2 udpstorm processtable mailbomb worm",
    "probe": "satan ipsweep nmap portsweep mscan saint",
    "u2r": "buffer_overflow loadmodule rootkit perl sqlattack xterm ps",
    "r2l": "guess_passwd ftp_write imap phf multihop warezmaster warezclient spy xlock xsnoop "
    "snmpguess snmpgetattack httptunnel sendmail named",
}
CLASS_OF = {name: kind for kind, names in ATTACKS.items() for name in names.split()}

NAMES = [
    "duration",
    "protocol",
    "service",
    "flag",
    "src_bytes",
    "dst_bytes",
    "land",
    "wrong_fragment",
    "urgent",
    "hot",
    "failed_logins",
    "logged_in",
    "compromised",
    "root_shell",
    "su_attempted",
    "roots",
    "file_creations",
    "shells",
    "access_files",
    "outbound_commands",
    "host_login",
    "guest_login",
    "count",
    "srv_count",
    "serror_rate",
    "srv_serror_rate",
    "rerror_rate",
    "srv_rerror_rate",
    "same_srv_rate",
    "diff_srv_rate",
    "srv_diff_host_rate",
    "dst_host_count",
    "dst_host_srv_count",
    "dst_host_same_srv_rate",
    "dst_host_diff_srv_rate",
    "dst_host_same_src_port_rate",
    "dst_host_srv_diff_host_rate",
    "dst_host_serror_rate",
    "dst_host_srv_serror_rate",
    "dst_host_rerror_rate",
    "dst_host_srv_rerror_rate",
]

PROTOCOLS = ("tcp", "udp", "icmp")
FLAGS = ("SF", "S0", "REJ", "RSTR", "RSTO", "SH", "S1", "S2", "S3", "RSTOS0", "OTH")
SERVICES = [
    "http",
    "private",
    "domain_u",
    "smtp",
    "ftp_data",
    "eco_i",
    "ecr_i",
    "other",
    "telnet",
    "finger",
    "ftp",
    "auth",
    "Z39_50",
    "uucp",
    "courier",
    "bgp",
    "uucp_path",
    "iso_tsap",
    "whois",
    "time",
    "imap4",
    "nnsp",
    "urp_i",
    "vmnet",
    "domain",
    "supdup",
    "csnet_ns",
    "discard",
    "http_443",
    "daytime",
    "gopher",
    "efs",
    "systat",
    "link",
    "hostnames",
    "exec",
    "name",
    "mtp",
    "echo",
    "klogin",
    "login",
    "ldap",
    "netbios_dgm",
    "netbios_ns",
    "netbios_ssn",
    "netstat",
    "nntp",
    "ntp_u",
    "pop_2",
    "pop_3",
    "printer",
    "red_i",
    "remote_job",
    "rje",
    "shell",
    "sql_net",
    "ssh",
    "sunrpc",
    "tftp_u",
    "tim_i",
    "urh_i",
    "IRC",
    "X11",
    "kshell",
    "ctf",
    "pm_dump",
    "aol",
    "harvest",
    "http_2784",
    "http_8001",
]
CHOICES = {"protocol": PROTOCOLS, "service": tuple(SERVICES), "flag": FLAGS}

MOST = {"duration": 6e4, "src_bytes": 1.4e9, "dst_bytes": 1.4e9, "wrong_fragment": 3, "urgent": 14,
        "hot": 110, "failed_logins": 5, "compromised": 8e3, "roots": 8e3, "file_creations": 100,
        "shells": 5, "access_files": 10, "su_attempted": 2, "count": 511, "srv_count": 511,
        "dst_host_count": 255, "dst_host_srv_count": 255}  # fmt: skip
"""Declared upper ends; of the other numbers it is 1."""
STATIC = 22
"""So many features describe the connection itself; the others its surroundings."""


@dataclass(frozen=True, eq=False)
class Connections:
    """Connections as a matrix in [0, 1] with the class and the attack of each.

    `one_hot` lists the columns of each choice, `dynamic` tells which columns come from windows.
    """

    rows: NDArray[np.float64]
    classes: NDArray[Any]
    attacks: NDArray[Any]
    columns: tuple[str, ...]
    one_hot: tuple[tuple[int, ...], ...]
    dynamic: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)


def read_connections(source: str | Path | Sequence[Sequence[Any]]) -> Connections:
    """Read a file of NSL-KDD (plain or gzip), or lists of 41 features and an attack's name.

    >>> benign = [0, "tcp", "http", "SF", 200, 3000] + [0] * 35 + ["normal"]
    >>> read_connections([benign]).classes.tolist()
    ['benign']
    """
    lines = _lines(source) if isinstance(source, (str, Path)) else [list(line) for line in source]
    if not lines or any(len(line) < 42 for line in lines):
        raise DataError(
            "A connection has 41 features and the name of its attack, 'normal' if none."
        )
    cells = list(zip(*lines, strict=False))
    attacks = np.array([str(name) for name in cells[41]])
    unknown = {name for name in attacks.tolist() if name not in CLASS_OF}
    if unknown:
        raise DataError(f"{len(unknown)} names of attacks are in none of the five classes.")
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    one_hot: list[tuple[int, ...]] = []
    dynamic: list[bool] = []
    for place, name in enumerate(NAMES):
        made, made_names = _encode(name, cells[place])
        if name in CHOICES:
            one_hot.append(tuple(range(len(names), len(names) + len(made_names))))
        parts.append(made)
        names += made_names
        dynamic += [place >= STATIC] * len(made_names)
    classes = np.array([CLASS_OF[name] for name in attacks.tolist()])
    return Connections(np.concatenate(parts, axis=1), classes, attacks, tuple(names),
                       tuple(one_hot), np.array(dynamic))  # fmt: skip


def _lines(source: str | Path) -> list[list[str]]:
    path = Path(source)
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError):
        raise DataError(f"{path} cannot be read as a file of connections.") from None
    return [line.split(",") for line in content.decode("utf-8", "replace").splitlines() if line]


def _encode(name: str, cells: Sequence[Any]) -> tuple[NDArray[np.float64], list[str]]:
    if name in CHOICES:
        values = {value: place for place, value in enumerate(CHOICES[name])}
        places = np.array([values.get(str(cell), -1) for cell in cells])
        made = np.zeros((len(cells), len(values)))
        known = places >= 0  # a value that is not declared is none of them
        made[np.flatnonzero(known), places[known]] = 1.0
        return made, [f"{name}={value}" for value in values]
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        raise DataError(f"The feature {name} has a cell that is no number.") from None
    most = MOST.get(name, 1.0)
    numbers = np.clip(np.nan_to_num(numbers), 0.0, most)
    scaled = np.log1p(numbers) / np.log1p(most) if most > 1 else numbers
    return scaled[:, None], [name]


@dataclass(frozen=True, eq=False)
class Detection:
    """How well a detector tells the five classes."""

    accuracy: float
    alarm_accuracy: float
    macro_f1: float
    recall: dict[str, float]
    seen: float

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {share:.2f}" for name, share in self.recall.items())
        return (
            f"accuracy {self.accuracy:.3f} (attack or not {self.alarm_accuracy:.3f}), macro F1 "
            f"{self.macro_f1:.3f}; recall: {parts}; on attacks seen in training {self.seen:.3f}"
        )


def judge_detector(model: Any, test: Connections, *, trained_on: Connections) -> Detection:
    """Judge a fitted detector on connections it has not seen."""
    if test.columns != trained_on.columns:
        raise ParameterError("Training and test connections have other columns.")
    said = np.asarray(model.predict(test.rows))
    right = said == test.classes
    known = np.isin(test.attacks, np.unique(trained_on.attacks))
    present = [name for name in CLASSES if (test.classes == name).any()]
    recall = {name: float(right[test.classes == name].mean()) for name in present}
    return Detection(
        accuracy=float(right.mean()),
        alarm_accuracy=float(((said == "benign") == (test.classes == "benign")).mean()),
        macro_f1=float(np.mean([_f1(said == name, test.classes == name) for name in present])),
        recall=recall,
        seen=float(right[known].mean()) if known.any() else float("nan"),
    )


def _f1(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    both = float((said & true).sum())
    total = float(said.sum() + true.sum())
    return 2 * both / total if total else 0.0

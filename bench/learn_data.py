"""Data of the learning benchmarks: rows, public declarations and splits."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared/data"

FLOWS = [
    "duration",
    "protocol_type",
    "service",
    "flag",
    "src_bytes",
    "dst_bytes",
    "land",
    "wrong_fragment",
    "urgent",
    "hot",
    "num_failed_logins",
    "logged_in",
    "num_compromised",
    "root_shell",
    "su_attempted",
    "num_root",
    "num_file_creations",
    "num_shells",
    "num_access_files",
    "num_outbound_cmds",
    "is_host_login",
    "is_guest_login",
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
SERVICES = [
    "IRC",
    "X11",
    "Z39_50",
    "aol",
    "auth",
    "bgp",
    "courier",
    "csnet_ns",
    "ctf",
    "daytime",
    "discard",
    "domain",
    "domain_u",
    "echo",
    "eco_i",
    "ecr_i",
    "efs",
    "exec",
    "finger",
    "ftp",
    "ftp_data",
    "gopher",
    "harvest",
    "hostnames",
    "http",
    "http_2784",
    "http_443",
    "http_8001",
    "imap4",
    "iso_tsap",
    "klogin",
    "kshell",
    "ldap",
    "link",
    "login",
    "mtp",
    "name",
    "netbios_dgm",
    "netbios_ns",
    "netbios_ssn",
    "netstat",
    "nnsp",
    "nntp",
    "ntp_u",
    "other",
    "pm_dump",
    "pop_2",
    "pop_3",
    "printer",
    "private",
    "red_i",
    "remote_job",
    "rje",
    "shell",
    "smtp",
    "sql_net",
    "ssh",
    "sunrpc",
    "supdup",
    "systat",
    "telnet",
    "tftp_u",
    "tim_i",
    "time",
    "urh_i",
    "urp_i",
    "uucp",
    "uucp_path",
    "vmnet",
    "whois",
]
FLAGS = ["OTH", "REJ", "RSTO", "RSTOS0", "RSTR", "S0", "S1", "S2", "S3", "SF", "SH"]


@dataclass(frozen=True)
class Rows:
    """Columns by name, the target, and what is public about the columns."""

    columns: dict
    target: np.ndarray
    bounds: dict
    domain: dict

    def part(self, places):
        chosen = {name: cells[places] for name, cells in self.columns.items()}
        return chosen, self.target[places]


def split(rows, seed, train):
    """Cut rows in two by a seed."""
    order = np.random.default_rng(seed).permutation(len(rows.target))
    return rows.part(order[:train]), rows.part(order[train:])


def official(rows, train=39_073):
    """The split that Adult comes with: constants are chosen on it, nothing is reported on it."""
    order = np.arange(len(rows.target))
    return rows.part(order[:train]), rows.part(order[train:])


def adult(target="income>50K"):
    """Adult in integer codes, both parts together."""
    folder = DATA / "adult_synthesis"
    sizes = json.loads((folder / "adult-domain.json").read_text())
    parts = [np.loadtxt(folder / f"adult_{part}.csv", delimiter=",", skiprows=1, dtype=np.int64)
             for part in ("train", "test")]  # fmt: skip
    names = (folder / "adult_train.csv").open().readline().strip().split(",")
    table = np.concatenate(parts)
    numbers = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
    kept = [name for name in names if name != target]
    return Rows(
        {name: table[:, names.index(name)] for name in kept},
        table[:, names.index(target)],
        {name: (0, sizes[name] - 1) for name in kept if name in numbers},
        {name: list(range(sizes[name])) for name in kept if name not in numbers},
    )


def flows():
    """NSL-KDD, attack or not; sizes and counts as logarithms, which is public and row by row."""
    with gzip.open(DATA / "intrusion/KDDTrain20.txt.gz", "rt") as file:
        lines = [line.strip().split(",") for line in file]
    columns, bounds, domain = {}, {}, {}
    lists = {"protocol_type": ["icmp", "tcp", "udp"], "service": SERVICES, "flag": FLAGS}
    for j, name in enumerate(FLOWS):
        cells = [line[j] for line in lines]
        if name in lists:
            columns[name], domain[name] = np.array(cells, dtype=object), lists[name]
            continue
        numbers = np.array(cells, dtype=float)
        if name.endswith("rate"):
            columns[name], bounds[name] = numbers, (0, 1)
        else:
            columns[name] = np.log1p(numbers)
            bounds[name] = (0, 22) if name.endswith("bytes") else (0, 11)
    attack = np.array([line[41] != "normal" for line in lines]).astype(np.int64)
    return Rows(columns, attack, bounds, domain)


def matrix(rows, part):
    """Features of a linear model: one-hot categories and numbers scaled to [−1, 1]."""
    columns, _ = part
    out = []
    for name, cells in columns.items():
        if name in rows.domain:
            out += [(cells == value).astype(np.float32) for value in rows.domain[name]]
        else:
            low, high = rows.bounds[name]
            out.append(
                (2 * (np.clip(cells, low, high) - low) / (high - low) - 1).astype(np.float32)
            )
    return np.column_stack(out)

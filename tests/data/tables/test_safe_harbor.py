"""Identifiers of the safe-harbour rule are recognised by form and name; no cell is quoted."""

from __future__ import annotations

import pytest

import sfumato as sf

COLUMNS = {
    "contact": (["ann@example.org", "bob@mail.example.com"], "e-mail addresses", "identifier"),
    "page": (["https://example.org/ann", "www.example.org/bob"], "web addresses", "identifier"),
    "origin": (["192.168.0.17", "10.0.255.1"], "IP addresses", "identifier"),
    "host": (["2001:db8:0:0:0:0:0:1", "fe80::1:2:3:4"], "IP addresses", "identifier"),
    "code": (["123-45-6789", "321-54-9876"], "social security numbers", "identifier"),
    "call": (["(555) 123-4567", "+44 20 7946 0958"], "telephone numbers", "identifier"),
    "device": (["00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5f"], "identifiers of devices", "identifier"),
    "mrn": (["A1", "A2"], "medical record numbers", "identifier"),
    "seen": (["2020-01-31", "2021-12-24"], "of dates only the year may stay", "quasi"),
    "zip": (["12345", "54321-1234"], "at most three digits", "quasi"),
    "age": (["34", "91"], "ages over 89", "quasi"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_the_rule_lists_is_recognised(name):
    cells, text, role = COLUMNS[name]
    data = {name: cells * 20, "other": ["x", "y", "y", "z"] * 10}
    (column, _) = sf.inspect(data).columns
    assert text in column.safe_harbor
    assert column.role == role
    shown = str(sf.inspect(data)) + sf.inspect(data).text()
    assert column.safe_harbor in shown
    assert not any(cell in shown for cell in cells if len(cell) > 2)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", ["34", "89"]),
        ("code", ["000-12-3456", "1-2-3"]),
        ("origin", ["1.2.3", "300.1.1.1"]),
        ("time", ["12:30", "23:15:10"]),
        ("zip", ["123", "543"]),
        ("salary", ["1200", "3400"]),
        ("ratio", ["1.5", "2.5"]),
    ],
)
def test_what_only_looks_alike_is_not(name, cells):
    data = {name: cells * 20, "other": ["x", "y", "y", "z"] * 10}
    assert sf.inspect(data).columns[0].safe_harbor == ""

"""What a client in another language needs to know: whole numbers, and nothing to compute.

Contract: ``recipe(survey)`` is a dictionary of plain values that goes into a page as JSON. Every
probability in it is a threshold: a coin shows yes where 32 random bits, as a number, are below it
(:mod:`sfumato.local.protocols.coins`), so a client realises exactly the probabilities for which the
guarantee is stated. The layout of a report is given by the fields of its protocol, in order.

``client/sfumato-local.js`` follows these recipes. It also computes ε from the thresholds and
refuses a recipe that promises more privacy than its coins keep.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.protocols import hashing
from sfumato.local.protocols.coins import threshold
from sfumato.local.protocols.grr import GRR
from sfumato.local.protocols.hadamard import Hadamard
from sfumato.local.protocols.olh import OLH
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.unary import UnaryEncoding
from sfumato.local.wire.framing import FORMAT
from sfumato.local.wire.json_lines import in_hexadecimal

if TYPE_CHECKING:
    from sfumato.local.collect.survey import Survey
    from sfumato.local.protocols.protocol import FrequencyProtocol
    from sfumato.local.reports import Field

CLIENT = Path(__file__).parents[1] / "client" / "sfumato-local.js"
"""The JavaScript client, one file without dependencies."""


def client_script() -> str:
    """Return the JavaScript client."""
    return CLIENT.read_text(encoding="utf-8")


def recipe(survey: Survey) -> dict[str, Any]:
    """Give everything that a client needs to make and send a report."""
    protocol = survey.protocol
    return {
        "format": FORMAT,
        "survey": survey.id,
        "version": survey.version,
        "key": survey.address.key.hex(),
        "terms": survey.terms.hex(),
        "protocol": protocol.name,
        "size": protocol.size,
        "epsilon": float(survey.epsilon),
        "remember": survey.remember,
        "fields": [_layout(field) for field in protocol.fields],
        **coins_of(protocol),
    }


def coins_of(protocol: FrequencyProtocol) -> dict[str, int]:
    """Give the thresholds and sizes of a protocol."""
    match protocol:
        case GRR():
            return {"keep": threshold(protocol.probabilities.p)}
        case UnaryEncoding():
            p, q = protocol.probabilities
            return {"one": threshold(p), "zero": threshold(q)}
        case OLH():
            limbs = hashing.limbs_of(protocol.size)
            if limbs > 1:
                raise ParameterError(
                    f"A client draws among at most {hashing.PRIME:,} answers with OLH, and the "
                    f"survey has {protocol.size:,}; ask for a coarser answer."
                )
            return {"cells": protocol.g, "keep": threshold(protocol.keep), "prime": hashing.PRIME}
        case Hadamard():
            return {
                "blocks": protocol.blocks,
                "width": protocol.width,
                "inside": threshold(protocol.inside),
            }
        case SubsetSelection():
            return {"chosen": protocol.omega, "include": threshold(protocol.include)}
        case _:
            raise ParameterError(
                f"Clients cannot perturb by {protocol.name}; they know GRR, SUE, OUE, OLH, "
                "Hadamard and subset selection."
            )


def _layout(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "bytes": np.dtype(field.dtype).itemsize,
        "entries": field.entries,
        "hex": in_hexadecimal(field),
    }

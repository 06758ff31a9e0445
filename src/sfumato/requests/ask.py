"""What can be asked of a dataset in SQL: `sfumato ask`."""

from __future__ import annotations

from typing import Annotated, Any

from sfumato.errors import ParameterError
from sfumato.requests.request import Request, Texts, argument, option, piece
from sfumato.requests.session import DataPlace, DatasetOpening, Delivery, Price
from sfumato.requests.texts import float_of, pairs_of


def _bounds(texts: list[str]) -> dict[str, tuple[str, str]]:
    """Read --bounds COLUMN=LOW,HIGH."""
    from sfumato.ask.language.days import Day  # noqa: PLC0415 - help stays quick

    form = "COLUMN=LOW,HIGH, as in --bounds salary=0,200000"
    found: dict[str, tuple[str, str]] = {}
    for name, value in pairs_of("--bounds", texts, form).items():
        ends = [end.strip() for end in value.split(",")]
        if len(ends) != 2:
            raise ParameterError(f"--bounds wants {form}, and {value!r} was given.")
        for end in ends:
            if Day.read(end) is None:
                float_of("--bounds", end)
        found[name] = (ends[0], ends[1])
    return found


def _blocks(text: str) -> list[int]:
    """Read --blocks 1,3; the first block is that of DATA."""
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isdecimal() and int(number) > 0 for number in numbers):
        raise ParameterError(f"--blocks wants numbers, as in --blocks 1,3, and {text!r} was given.")
    return [int(number) for number in numbers]


def _keys(texts: list[str]) -> dict[str, list[str]]:
    pairs = pairs_of("--keys", texts, "COLUMN=A,B,C, as in --keys sex=female,male")
    return {name: [value.strip() for value in values.split(",")] for name, values in pairs.items()}


Bounds = Annotated[
    dict[str, tuple[Any, Any]],
    option("--bounds", metavar="COLUMN=LOW,HIGH", help="Clamp a column's values; may be repeated."),
    Texts(_bounds),
]
Blocks = Annotated[
    tuple[int, ...] | None,
    option(
        "--blocks",
        metavar="1,3",
        help="Which blocks are asked, by number: DATA is 1, the first --block 2; all if absent.",
    ),
    Texts(_blocks, several=False),
]
EstimateOnly = Annotated[
    bool, option("--estimate", help="Tell cost and error only; nothing is spent.")
]


class AskRequest(Request):
    """A question in SQL, and what its answer may cost."""

    question: Annotated[str, argument(metavar="SQL", help="The question, one SELECT.")]
    price: Price = piece(Price)
    estimate: EstimateOnly = False
    bounds: Bounds = {}
    keys: Annotated[
        dict[str, list[Any]],
        option(
            "--keys",
            metavar="COLUMN=A,B,C",
            help="Public values of a GROUP BY, so that all are answered; may be repeated.",
        ),
        Texts(_keys),
    ] = {}
    blocks: Blocks = None


class AskCommand(Request):
    """`sfumato ask`: the question, and the dataset that whoever asks opens."""

    data: DataPlace
    asked: AskRequest
    opening: DatasetOpening = piece(DatasetOpening)
    delivery: Delivery = piece(Delivery)

"""What can be asked of a server: bodies of its API, which are the fields of its forms as well.

A question and a price are those of `sfumato ask`; here they come without files, and with the
purpose, because a server knows who asks.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from sfumato.requests.ask import Bounds
from sfumato.requests.owner import OwnerRules, Shares
from sfumato.requests.request import Amount, Request, option, piece
from sfumato.requests.session import TIME_ZONE_HELP, Price, UnitWords

MOST_SQL = 16 * 1024
MOST_ESTIMATES = 100

ShortText = Annotated[str, Field(max_length=200)]
LongText = Annotated[str, Field(max_length=2000)]


class QuestionRequest(Request):
    """A question in SQL, for a purpose, and what its answer may cost."""

    question: Annotated[
        str, option(help="The question, one SELECT.", min_length=1, max_length=MOST_SQL)
    ]
    purpose: Annotated[
        str | None, option(help="For what; the only one granted if absent.", max_length=200)
    ] = None
    price: Price = piece(Price)
    bounds: Bounds = {}
    keys: Annotated[
        dict[str, list[str | int | float | bool]],
        option(help="Public values of a GROUP BY, so that all are answered."),
    ] = {}
    blocks: Annotated[
        list[str] | None, option(help="Blocks of rows it is about; all if absent.", min_length=1)
    ] = None

    def facts(self) -> dict[str, Any]:
        """Return what the question states about columns, as a session takes it."""
        return {"bounds": self.bounds, "keys": self.keys, "blocks": self.blocks}


class EstimatesRequest(Request):
    """Questions to be priced together; nothing is spent."""

    questions: Annotated[
        list[QuestionRequest],
        option(help="The questions of the batch.", min_length=1, max_length=MOST_ESTIMATES),
    ]
    confidence: Annotated[float, option(help="Of the intervals, between 0 and 1.", gt=0, lt=1)] = (
        0.95
    )


class DatasetFacts(Request):
    """What everybody may know about a dataset."""

    title: Annotated[ShortText, option(help="What it is called on the openness page.")] = ""
    why: Annotated[LongText, option(help="Why it is held, in a sentence.")] = ""
    contact: Annotated[ShortText, option(help="Whom to ask.")] = ""
    retention: Annotated[ShortText, option(help="How long it is kept.")] = ""
    subject: Annotated[
        ShortText, option(help="Column by which a person is looked up who asks what is held.")
    ] = ""
    tick: Annotated[
        float, option(help="Answers leave at multiples of so many seconds.", ge=0.01, le=3600)
    ] = 0.25
    deadline: Annotated[
        float, option(help="Seconds after which a question has failed.", ge=0.01, le=86400)
    ] = 60.0


class DatasetRequest(Request):
    """A dataset to be held: where its rows are, what they mean, and the owner's rules."""

    name: Annotated[
        str,
        option(help="Its name in questions.", pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$"),
    ]
    shape: Annotated[
        Literal["table", "sets", "hybrid", "trees", "graph", "trajectories"],
        option(help="Shape of the data."),
    ] = "table"
    reading: Annotated[
        dict[str, str | int | float | bool],
        option(help="How a file of that shape is read, in the words of `sf.read`."),
    ] = {}
    source: Annotated[
        str,
        option(
            help="Text of a CSV file, the id of an upload (upload:…), a file of the server's "
            "folder, data/clinic.duckdb::visits, database:clinic::visits (a database that the "
            "operator has named), or spark:catalog.table.",
            min_length=1,
        ),
    ]
    schema_text: Annotated[
        str,
        option(
            help="YAML that gives every column its role, suggested if empty; for sets the CSV of "
            "their item hierarchy."
        ),
    ] = ""
    purposes: Annotated[list[ShortText], option(help="What it may be used for.")] = []
    time_zone: Annotated[ShortText, option(help=TIME_ZONE_HELP)] = ""
    told: DatasetFacts = piece(DatasetFacts)
    unit: UnitWords = piece(UnitWords)
    owner: OwnerRules = piece(OwnerRules)


class AmendRequest(Request):
    """Changes of what an owner may change, each with a reason."""

    reason: Annotated[str, option(help="Why; everybody reads it.", min_length=1, max_length=1000)]
    owner: Annotated[
        OwnerRules | None, option(help="Bounds, keys, limits and policies from now on.")
    ] = None
    shares: Annotated[
        Shares | None,
        option(help="Limits of analysts and purposes, and how the budget is dealt out."),
    ] = None
    purposes: Annotated[list[ShortText] | None, option(help="The purposes from now on.")] = None
    told: Annotated[
        dict[str, str | float] | None,
        option(help="Facts of the openness page to change: title, why, contact, retention, …"),
    ] = None


class GrantRequest(Request):
    """Who may ask about a dataset, for which purpose."""

    analyst: Annotated[str, option(help="Name of the account.", min_length=1, max_length=64)]
    purpose: Annotated[ShortText | None, option(help="One of the dataset's purposes.")] = None


class OwnerRequest(Request):
    """Who else owns a dataset."""

    name: Annotated[str, option(help="Name of an owner's account.", min_length=1, max_length=64)]


class WishRequest(Request):
    """A request for a larger limit of one's own."""

    amount: Annotated[Amount, option(help="The limit wanted: an ε, or a ρ of a budget in ρ.")]
    reason: Annotated[str, option(help="What it is needed for.", min_length=1, max_length=1000)]


class TokenRequest(Request):
    """A token for programs."""

    label: Annotated[str, option(help="What it is for.", min_length=1, max_length=80)]
    scopes: Annotated[list[Literal["ask", "own"]], option(help="What it may do.")] = ["ask"]
    days: Annotated[int, option(help="How long it lasts.", ge=1, le=366)] = 90


class SubjectRequest(Request):
    """What a person asks about her own data."""

    kind: Annotated[
        Literal["access", "correct", "forget"],
        option(help="To be told what is held, to have it corrected, or to be forgotten."),
    ]
    dataset: Annotated[ShortText, option(help="The dataset it is about.")]
    told: Annotated[
        str,
        option(help="Who you are and how you can be reached.", min_length=1, max_length=2000),
    ]


class ConfirmRequest(Request):
    """The owner's word that somebody is who she says she is."""

    person: Annotated[
        str, option(help="How the dataset names the person.", min_length=1, max_length=200)
    ]
    corrections: Annotated[
        dict[str, str], option(help="For a correction: columns and their right values.")
    ] = {}


class WithdrawalRequest(Request):
    """A report of a survey that is taken back."""

    code: Annotated[
        str,
        option(
            help="Withdrawal code that the device shows: 16 digits and letters from a to f.",
            pattern="^[0-9a-fA-F]{16}$",
        ),
    ]


class SurveyRequest(Request):
    """A question to people who trust nobody."""

    id: Annotated[str, option(help="A short id: a-z, 0-9, '-', '_' and '.'.", max_length=64)]
    question: Annotated[str, option(help="What people are asked.", min_length=1, max_length=500)]
    answers: Annotated[
        list[ShortText], option(help="All possible answers.", min_length=2, max_length=1000)
    ]
    epsilon: Annotated[Amount, option(help="ε of each person's report.")]
    asked_by: Annotated[ShortText, option(help="Who asks.")] = ""
    about: Annotated[LongText, option(help="Why you ask, in a sentence.")] = ""
    remember: Annotated[bool, option(help="Asked again and again: devices keep a memory.")] = False
    together: Annotated[
        int, option(help="Reports that a device may send in one message.", ge=1, le=10_000)
    ] = 1
    embed: Annotated[
        list[Annotated[str, Field(pattern=r"^https://[a-z0-9.-]{1,250}(:[0-9]{1,5})?$")]],
        option(
            help="Sites that may show its page in a frame, as in https://example.org.",
            max_length=20,
        ),
    ] = []

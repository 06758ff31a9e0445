"""What a survey under local differential privacy may be asked: `sfumato local …`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from sfumato.requests.request import Amount, Request, argument, option

SurveyFile = Annotated[Path, option("--survey", "-s", help="The survey; `new-survey` writes one.")]
Store = Annotated[Path, option("--store", help="File that keeps the reports.")]


class ProtocolName(StrEnum):
    """The protocols that a browser can run."""

    GRR = "GRR"
    SUE = "SUE"
    OUE = "OUE"
    OLH = "OLH"
    HADAMARD = "Hadamard"
    SUBSET = "SubsetSelection"


class Repair(StrEnum):
    """What can be done to estimates so that they look like a distribution."""

    NONE = "none"
    NORM_SUB = "norm-sub"
    SIMPLEX = "simplex"
    BASE_CUT = "base-cut"


class NewSurveyCommand(Request):
    """`sfumato local new-survey`: a question, its answers, and how they are disguised."""

    name: Annotated[str, argument(help="A short id: a-z, 0-9, '-', '_' and '.'.")]
    question: Annotated[str, option("--question", "-q", help="What people are asked.")]
    epsilon: Annotated[Amount, option("--epsilon", "-e", help="ε of each person's report.")]
    answer: Annotated[
        tuple[str, ...], option("--answer", "-a", help="A possible answer; give all.")
    ] = ()
    answers: Annotated[Path | None, option(help="Text file with one possible answer per line.")] = (
        None
    )
    protocol: Annotated[
        ProtocolName | None, option(help="How answers are disguised; default: most accurate.")
    ] = None
    asked_by: Annotated[str, option(help="Who asks; people want to know.")] = ""
    about: Annotated[str, option(help="Why you ask, in a sentence.")] = ""
    send_to: Annotated[
        str, option(help="Address that takes reports; without one they are handed in.")
    ] = ""
    remember: Annotated[
        bool, option("--remember", help="Asked again and again: devices keep a memory.")
    ] = False
    output: Annotated[Path | None, option("--output", "-o", help="Folder; default: the id.")] = None
    force: Annotated[bool, option("--force", help="Replace what is there.")] = False


class PageCommand(Request):
    """`sfumato local page`: which survey, and where its page goes."""

    survey: SurveyFile
    output: Annotated[Path, option("--output", "-o", help="HTML file to write.")]


class PerturbCommand(Request):
    """`sfumato local perturb`: true answers, and where their reports go."""

    values: Annotated[Path, argument(help="CSV or Parquet file of true answers.")]
    survey: SurveyFile
    output: Annotated[Path, option("--output", "-o", help="File of reports to write.")]
    column: Annotated[
        str | None, option("--column", "-c", help="Column of answers; default: the only one.")
    ] = None
    readable: Annotated[bool, option("--json", help="Readable JSON, not binary.")] = False
    force: Annotated[bool, option("--force", help="Replace the file of reports.")] = False


class CollectCommand(Request):
    """`sfumato local collect`: reports, and the store they are added to."""

    reports: Annotated[tuple[Path, ...], argument(help="Files of reports, binary or JSON.")]
    survey: SurveyFile
    store: Store


class EstimateCommand(Request):
    """`sfumato local estimate`: which reports, and how their estimates are shown."""

    survey: SurveyFile
    store: Store
    consistency: Annotated[
        Repair, option(help="Make the shares look like a distribution; this biases them.")
    ] = Repair.NONE
    level: Annotated[float, option(help="Level of the intervals.")] = 0.95
    plot: Annotated[Path | None, option(help="HTML page with a picture to write.")] = None
    csv: Annotated[Path | None, option(help="CSV file of all estimates to write.")] = None

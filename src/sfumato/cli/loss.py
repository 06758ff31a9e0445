"""`sfumato loss`: what a released table lost, by any tool."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.display.terminal import out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.requests.compare import LossCommand


@takes_request
def loss(request: LossCommand) -> None:
    """Measure what a released table lost, by any tool: LM, MD, classes, query error.

    Example: sfumato loss patients.csv released-by-hand.csv -s patients.yaml

    Labels are nodes of the schema's hierarchies, intervals, masks, groups or *; records that are
    missing count as suppressed.
    """
    from sfumato.anonymize.loss.tables import loss as measure  # noqa: PLC0415 - heavy
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - the same

    form = request.csv
    found = measure(
        read(request.original, delimiter=form.delimiter, encoding=form.encoding),
        read(request.released, delimiter=form.delimiter, encoding=form.encoding),
        Path(request.schema_file),
        queries=request.queries, seed=request.seed,
    )  # fmt: skip
    result({"values": dict(found.values), "attributes": found.attributes, "notes": found.notes})
    rows = [(name, f"{value:.6g}") for name, value in found.values.items()]
    show_table(f"What {found.source} lost", ("measure", "value"), rows)
    each = [(n, f"{v['LM']:.6g}", f"{v['MD']:.6g}") for n, v in found.attributes.items()]
    show_table("By attribute", ("attribute", "LM", "MD"), each)
    for note in found.notes:
        out.print(f"• {note}", markup=False)

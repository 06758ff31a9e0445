"""`sfumato synthesize`: a synthetic copy of a table that may be given away, under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.display.terminal import note, out
from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import open_session
from sfumato.errors import ParameterError
from sfumato.requests.synthesize import SynthesizeCommand

if TYPE_CHECKING:
    from sfumato.release import Release


@takes_request
def synthesize(request: SynthesizeCommand) -> None:
    """Make a synthetic copy of a table: rows of nobody that follow noisy counts of the real ones.

    Example: sfumato synthesize patients.csv -s patients.yaml --unit row -e 1 --delta 1e-6 -o copy

    Example: sfumato synthesize visits.csv -s visits.yaml --unit patient --rows 4 -e 1 --delta 1e-6
    --rule "minutes > 0 or cost = 0" --target department -o copy --predict 5000

    Domains are public: the schema's, --bounds and --values, from knowledge; --search lets others be
    found for a share of the price. The same request again is given again for nothing. Baskets,
    traces and graphs: --shape sets, trajectories or graph.
    """
    from sfumato.cli.display.publication import check_places, save, tell_prediction  # noqa: PLC0415 - help stays quick
    from sfumato.cli.display.spinner import Waiting  # noqa: PLC0415 - the same

    wanted = request.published
    if wanted.predict is None and wanted.output is None:
        raise ParameterError("Say where the copy goes, with --output FOLDER.")
    check_places(wanted.output, None, force=wanted.force)
    options = {**request.copied.copying(), **wanted.price.given()}
    with Waiting("synthesising"), open_session(request.data, request.opening) as session:
        if wanted.predict is not None:
            told = session.predict("synthesize", rows=wanted.predict, **options)
        else:
            release = session.synthesize(**options)
            save(release, wanted, session)
    if wanted.predict is not None:
        tell_prediction(told)
        return
    tell_copy(release)


def tell_copy(release: Release) -> None:
    """Say what a copy promises, what it was made of, and what to doubt."""
    made: Any = release.artefact
    out.print(f"{len(made):,} synthetic {made.unit}s; {release.promise}", markup=False)
    for measured in sorted(made.measurements, key=lambda m: -m.predicted)[:5]:
        names = " × ".join(measured.columns)
        out.print(
            f"  {names}: noise {measured.sigma:,.1f} per cell, expected distance "
            f"{measured.predicted:.3f}, distance to the noisy table {measured.distance:.3f}",
            markup=False,
        )
    for told in made.notes:
        note(told)

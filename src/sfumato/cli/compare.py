"""`sfumato compare`: what each algorithm, k and limit of suppression would cost."""

from __future__ import annotations

from sfumato.cli.display.terminal import SearchProgress, note, out, result, show_table
from sfumato.cli.options.bridge import takes_request
from sfumato.errors import ParameterError
from sfumato.requests.compare import CompareCommand


@takes_request
def compare(request: CompareCommand) -> None:
    """Compare algorithms, k and suppression in one table; nothing is released.

    Example: sfumato compare patients.csv -s patients.yaml -l 2:diagnosis --ks 2,5,10

    The table is for you: it is made from the original. Draw it with -o comparison.svg.
    """
    from sfumato.anonymize.definitions.anonymity import KAnonymity  # noqa: PLC0415 - heavy
    from sfumato.anonymize.tables import comparison  # noqa: PLC0415 - the same
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - the same
    from sfumato.data.tables.sources import read  # noqa: PLC0415 - the same

    if request.output is not None and request.output.suffix.lower() != ".svg":
        raise ParameterError(f"--output draws into a file that ends in .svg, not {request.output}.")
    csv, ks = request.csv, request.ks or comparison.KS
    table = read(
        request.data, schema=request.schema_file, delimiter=csv.delimiter, encoding=csv.encoding
    )
    with SearchProgress("comparing", enabled=not request.quiet) as progress:
        found = comparison.compare(
            table,
            KAnonymity(min(ks)) if request.promise is None else request.promise,
            k=ks,
            algorithm=request.algorithms or comparison.COMPARED,
            suppression=request.suppressions or (0.0,),
            objective=request.objective,
            population=request.population,
            progress=progress,
            time_limit=request.time_limit,
        )
    result(found.to_json())
    if not request.quiet:
        show_table(f"{found.source}: {found.records:,} records", found.header, found.rows())
        out.print("seconds of processor time; 'least' loses least for its k", style="dim")
    if request.output is not None:
        write_text_atomically(request.output, found.picture)
        note(f"wrote {request.output}")

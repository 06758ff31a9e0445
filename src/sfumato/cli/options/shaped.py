"""`sfumato anonymize|verify|attack --shape NAME`: the same for data that are no table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli import anonymize, attack, verify
from sfumato.cli.display.terminal import SearchProgress, note
from sfumato.cli.options.login import login
from sfumato.cli.options.shapes import command_for, shape_named
from sfumato.errors import ParameterError
from sfumato.requests.promises import nothing_promised
from sfumato.requests.shapes import (
    ShapedAnonymize,
    ShapedAttack,
    ShapedCommand,
    ShapedVerify,
)
from sfumato.requests.synthesize import ShapedSynthesize

if TYPE_CHECKING:
    from collections.abc import Callable


def anonymize_shape(request: ShapedAnonymize) -> None:
    """Anonymise data that are no table: a release, a proof that the promise holds, and a report.

    Example: sfumato anonymize baskets.dat --shape sets -k 5 -o out/
    """
    from sfumato.anonymize.run import anonymize as run  # noqa: PLC0415 - heavy
    from sfumato.release_folder import save_release  # noqa: PLC0415 - heavy
    from sfumato.shape import read  # noqa: PLC0415 - heavy

    if request.promise is None:
        raise nothing_promised()
    shape = shape_named(request.shape).name
    data = read(request.data, schema=request.schema_file, shape=shape, **request.reading_options())
    with SearchProgress("searching", enabled=not request.quiet) as progress:
        release = run(
            data, request.promise, algorithm=request.algorithm, progress=progress,
            **request.own_options(),
        )  # fmt: skip
    folder, record = request.folder, request.record
    saved = save_release(
        release, request.output, file_format=folder.file_format, report=not folder.no_report,
        replace=folder.force, formulas="guard" if folder.guard_formulas else "keep",
        ledger=record.ledger, purpose=record.purpose, by=login(),
    )  # fmt: skip
    if not request.quiet:
        anonymize.tell(release, saved.path)


def verify_shape(request: ShapedVerify) -> None:
    """Check a release that is no table against its promise; exit code 1 when it is broken.

    Example: sfumato verify out/ --shape sets -k 5
    """
    from sfumato.audit.verification.verify import verify as check  # noqa: PLC0415 - heavy

    shape = shape_named(request.shape).name
    found = check(
        request.release,
        request.schema_file,
        request.promise,
        shape=shape,
        **request.own_options(),
    )
    verify.end(found, request)


def attack_shape(request: ShapedAttack) -> None:
    """Attack a release that is no table, and say what would have stopped each attack.

    Example: sfumato attack out/ --shape sets --original baskets.dat
    """
    from sfumato.attack.prechecks import precheck  # noqa: PLC0415 - heavy
    from sfumato.shape import read  # noqa: PLC0415 - heavy

    shape = shape_named(request.shape).name
    known = {**attack.known_to(request), **request.own_options()}
    if request.original is not None and request.reading_options():
        known["original"] = read(request.original, shape=shape, **request.reading_options())
    attack.end(precheck(request.release, shape=shape, **known), request)


def synthesize_shape(request: ShapedSynthesize) -> None:
    """Make a synthetic copy of data that are no table, which may be given away.

    Example: sfumato synthesize baskets.dat --shape sets --listed items.txt -e 1 --delta 1e-6 -o out

    Example: sfumato synthesize friends.edges --shape graph -e 1 -o copy --ledger releases.ledger

    With --ledger the copy is recorded with its promise before it appears.
    """
    from sfumato.cli.display.publication import check_places, tell_prediction  # noqa: PLC0415 - heavy
    from sfumato.cli.synthesize import tell_copy  # noqa: PLC0415 - heavy
    from sfumato.dp.publish.synthesis import any_shape  # noqa: PLC0415 - heavy
    from sfumato.release_folder import save_release  # noqa: PLC0415 - heavy
    from sfumato.shape import read  # noqa: PLC0415 - heavy

    shape = shape_named(request.shape).name
    if request.predict is None and request.output is None:
        raise ParameterError("Say where the copy goes, with --output FOLDER.")
    check_places(request.output, None, force=request.folder.force)
    data = read(request.data, schema=request.schema_file, shape=shape, **request.reading_options())
    options = request.making()
    if request.predict is not None:
        tell_prediction(any_shape.predict_synthesis(data, rows=request.predict, **options))
        return
    release = any_shape.synthesize(data, **options)
    folder, record = request.folder, request.record
    assert request.output is not None
    saved = save_release(
        release, request.output, file_format=folder.file_format, report=not folder.no_report,
        replace=folder.force, formulas="guard" if folder.guard_formulas else "keep",
        ledger=record.ledger, purpose=record.purpose, by=login(),
    )  # fmt: skip
    if not request.quiet:
        tell_copy(release)
        note(f"{saved.path} was written")


def for_shape(command: str, shape: str) -> Callable[..., None]:
    """Return a command with the options of a shape."""
    function, model = _COMMANDS[command]
    return command_for(function, command, model, shape)


_COMMANDS: dict[str, tuple[Callable[[Any], None], type[ShapedCommand]]] = {
    "anonymize": (anonymize_shape, ShapedAnonymize),
    "verify": (verify_shape, ShapedVerify),
    "attack": (attack_shape, ShapedAttack),
    "synthesize": (synthesize_shape, ShapedSynthesize),
}

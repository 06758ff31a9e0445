"""`sfumato anonymize|verify|attack --shape NAME`: the same for data that are no table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli import anonymize, attack, verify
from sfumato.cli.display.terminal import SearchProgress
from sfumato.cli.login import login
from sfumato.cli.options.shapes import command_for, shape_named
from sfumato.requests.promises import nothing_promised
from sfumato.requests.shapes import (
    ShapedAnonymize,
    ShapedAttack,
    ShapedCommand,
    ShapedVerify,
)

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
        replace=folder.force, ledger=record.ledger, purpose=record.purpose, by=login(),
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


def for_shape(command: str, shape: str) -> Callable[..., None]:
    """Return a command with the options of a shape."""
    function, model = _COMMANDS[command]
    return command_for(function, command, model, shape)


_COMMANDS: dict[str, tuple[Callable[[Any], None], type[ShapedCommand]]] = {
    "anonymize": (anonymize_shape, ShapedAnonymize),
    "verify": (verify_shape, ShapedVerify),
    "attack": (attack_shape, ShapedAttack),
}

"""Starting a server: folder, ledger, key, a first owner's link, an example; then the workers.

Contract: what is there already is left as it is. As long as there is no owner, every start prints
a fresh one-time link; whoever opens it first becomes the owner. One such link is open at a time,
and none when there is an owner, unless the operator asks for another. Keys and secrets are made
here, before there are workers that could find them half written.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtra
from sfumato.govern.certificates.keys import key_at
from sfumato.govern.office.catalogue import find_dataset
from sfumato.govern.office.entry import OWNERS, end_links, make_link
from sfumato.govern.office.office import Office
from sfumato.govern.office.people import list_people
from sfumato.service.settings import Settings, address_of, secret_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sfumato.requests.serve import ServeCommand

HOURS = 24.0


def prepare(settings: Settings, *, example: bool = False, new_owner: bool = False) -> str | None:
    """Make what is missing; give the secret of a one-time link for an owner, if one is needed."""
    settings.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys = settings.path / "keys"
    key_at(keys / "signing.pem")
    for name in ("secret", "operator"):
        secret_at(keys / name)
    office = Office(settings.place)
    try:
        if example and find_dataset(office, "patients") is None:
            _register_example(settings)
        end_links(office, "welcome", OWNERS)
        is_owned = any(person.role == "owner" for person in list_people(office))
        if is_owned and not new_owner:
            return None
        return make_link(office, "welcome", OWNERS, hours=HOURS)
    finally:
        office.close()


def _register_example(settings: Settings) -> None:
    """Register made-up patients."""
    from sfumato import examples  # noqa: PLC0415 - where it is wanted
    from sfumato.requests.service import DatasetRequest  # noqa: PLC0415 - the same
    from sfumato.service.access import NOBODY  # noqa: PLC0415 - the same
    from sfumato.service.house import House  # noqa: PLC0415 - the same
    from sfumato.service.registration import register_for  # noqa: PLC0415 - the same

    folder = settings.path / "data" / "patients"
    folder.mkdir(parents=True, exist_ok=True)
    examples.patients(2000, seed=1).write(folder)
    _declare(folder)
    wanted = DatasetRequest.of({
        "name": "patients",
        "source": "data/patients/patients.csv",
        "purposes": ["care", "research"],
        "told": {
            "title": "Patients (made up)",
            "why": "An example: 2,000 people who do not exist, to try everything on.",
            "contact": "the owner of this server", "retention": "No end date set",
            "subject": "name",
        },
        "unit": {"unit": "row"},
        "owner": {"budget": {"budget": "3", "budget_delta": "1e-6"},
                  "shares": {"limit_analyst": ["1"]}},
    })  # fmt: skip
    house = House(settings)
    try:
        register_for(house, NOBODY, wanted, owner="")
    finally:
        house.close()


def _declare(folder: Path) -> None:
    """Write the schema with what is public about people who were made up: ranges and values.

    So every question can be asked and every release made, without more being declared.
    """
    import yaml  # noqa: PLC0415 - where it is wanted

    schema = yaml.safe_load((folder / "patients.yaml").read_text(encoding="utf-8"))
    columns = schema["attributes"]
    for name, high in (("age", 99), ("salary", 200_000)):
        columns[name] |= {"type": "integer", "domain": {"low": 0, "high": high}}
    columns["sex"]["domain"] = ["female", "male"]
    for name in ("nationality", "job", "diagnosis"):
        lines = (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        columns[name]["domain"] = [line.partition(";")[0] for line in lines]
    (folder / "schema.yaml").write_text(
        yaml.safe_dump(schema, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    (folder / "patients.yaml").unlink()


def serve(wanted: ServeCommand, tell: Callable[[str], None]) -> None:
    """Start the server, and answer until it is stopped."""
    settings = Settings(
        folder=str(wanted.folder), ledger=address_of(wanted.ledger or ""), hosts=wanted.host,
        deletions=wanted.deletions, rate=wanted.rate,
        databases={name: address_of(stated) for name, stated in wanted.database.items()},
        spark=wanted.spark,
    )  # fmt: skip
    try:
        import uvicorn  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("uvicorn", "server", "A server") from None
    secret = prepare(settings, example=wanted.example, new_owner=wanted.new_owner)
    address = f"http://{wanted.bind}:{wanted.port}"
    if secret is not None:
        tell(f"Become its owner, once: {address}/welcome/{secret}")
    if wanted.new_owner:
        return
    tell(f"Sfumato answers at {address}, and keeps everything in {settings.path}")
    settings.to_environment()
    options: dict[str, Any] = {
        "host": wanted.bind, "port": wanted.port, "access_log": False, "log_level": "warning",
        "server_header": False, "date_header": False, "proxy_headers": bool(wanted.host),
        "timeout_keep_alive": 30, "limit_concurrency": 2000, "h11_max_incomplete_event_size": 65536,
        "ws": "none", "timeout_graceful_shutdown": 5,
    }  # fmt: skip
    if wanted.workers > 1:
        uvicorn.run(
            "sfumato.service.door:from_environment", factory=True, workers=wanted.workers, **options
        )
        return
    from sfumato.service.door import from_environment  # noqa: PLC0415 - in this process only

    config = uvicorn.Config(from_environment(), **options)
    asyncio.set_event_loop_policy(None)
    uvicorn.Server(config).run()

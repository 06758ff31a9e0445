"""Coming in and going out: log in, log out, and links that work once."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.govern.office import events
from sfumato.govern.office.entry import (
    OWNERS,
    SESSION,
    end_links,
    end_session,
    open_session,
    see_link,
    use_link,
)
from sfumato.govern.office.office import new_id
from sfumato.govern.office.passwords import hash_password
from sfumato.govern.office.people import add_person, check_name, find_person, log_in, set_password
from sfumato.service.call import cookie_of, go, local
from sfumato.service.pages.frame import page, values_of
from sfumato.service.problems import Problem, not_found

if TYPE_CHECKING:
    from starlette.responses import Response

    from sfumato.govern.office.people import Person
    from sfumato.service.call import Call

COOKIE, DEVICE = "__Host-sfumato", "__Host-sfumato-device"
_DEVICE_LASTS = 400 * 86400
_WRONG = "Name or password is wrong."
_BLOCKED = "Too many logins have failed; try again in a quarter of an hour."


def known_device(call: Call, name: str) -> str:
    """Name the device if the account was entered from it before; an empty text otherwise.

    What a browser keeps for this opens nothing: it says that a login here is no stranger's.
    """
    id_, _, proof = cookie_of(call.headers, DEVICE).partition(".")
    is_known = hmac.compare_digest(proof.encode(), _device_proof(call, id_, name).encode())
    return id_ if id_ and is_known else ""


def _device_proof(call: Call, id_: str, name: str) -> str:
    said = f"device\0{id_}\0{name.casefold()}".encode("utf-8", "surrogatepass")
    return hmac.new(call.house.secret, said, "sha256").hexdigest()


def _let_in(call: Call, person: Person, place: str) -> Response:
    """Open a session, and send the browser on; its device is known from now on."""
    secret = open_session(call.house.office, person.id, call.header("user-agent"))
    events.record(call.house.office, "login", who=person.pseudonym)
    response = go(place)
    response.headers["Set-Cookie"] = (
        f"{COOKIE}={secret}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={SESSION:.0f}"
    )
    device = known_device(call, person.name) or new_id()
    response.headers.append(
        "Set-Cookie",
        f"{DEVICE}={device}.{_device_proof(call, device, person.name)}; Path=/; Secure; HttpOnly; "
        f"SameSite=Lax; Max-Age={_DEVICE_LASTS}",
    )
    return response


async def login_form(call: Call) -> Response:
    """Show the form."""
    return page(call, "login.html", title="Log in", next=local(call.query.get("next", "/")),
                wrong="")  # fmt: skip


async def login(call: Call) -> Response:
    """Check name and password; unknown names take as long as wrong passwords."""
    given = values_of(await call.form())
    name, place = given.get("name", ""), local(given.get("next", "/"))
    office = call.house.office
    device = known_device(call, name)
    attempt = await call.house.thread(events.begin_attempt, office, name, call.address, device)
    if attempt is None:
        return page(call, "login.html", 429, title="Log in", next=place, wrong=_BLOCKED)
    person = await call.house.thread(log_in, office, name, given.get("password", ""))
    if person is None:
        await call.house.thread(events.record, office, "login failed")
        return page(call, "login.html", 401, title="Log in", next=place, wrong=_WRONG)
    await call.house.thread(events.drop_attempt, office, attempt)
    return await call.house.thread(_let_in, call, person, place)


async def logout(call: Call) -> Response:
    """End the session."""
    await call.house.thread(end_session, call.house.office, call.caller.secret)
    response = go("/")
    response.headers["Set-Cookie"] = f"{COOKIE}=; Path=/; Secure; HttpOnly; Max-Age=0"
    return response


async def welcome_form(call: Call) -> Response:
    """Show what a link is for; it is used up by sending the form, not by looking."""
    about = see_link(call.house.office, "welcome", call.path["link"])
    if about is None:
        raise _used_up()
    return page(call, "welcome.html", title="Welcome", about=json.loads(about), wrong="")


async def welcome(call: Call) -> Response:
    """Make the account or set its password, and let its person in."""
    given = values_of(await call.form())
    office, link = call.house.office, call.path["link"]
    seen = see_link(office, "welcome", link)
    if seen is None:
        raise _used_up()
    password, told = given.get("password", ""), json.loads(seen)
    try:  # what is wrong is refused before the link is used up
        if not told.get("person"):
            await call.house.thread(check_name, office, _name(told, given))
        if password != given.get("again", ""):
            raise ParameterError("The two passwords differ.")  # noqa: TRY301 - told below
        await call.house.thread(hash_password, password)
    except ParameterError as error:
        facts = {"title": "Welcome", "about": told, "wrong": str(error)}
        return page(call, "welcome.html", 422, **facts)
    about = await call.house.thread(use_link, office, "welcome", link)
    if about is None:
        raise _used_up()
    person = await call.house.thread(_welcomed, call, json.loads(about), given, password)
    return await call.house.thread(_let_in, call, person, "/datasets")


def _welcomed(call: Call, about: dict[str, str], given: dict[str, str], password: str) -> Person:
    office = call.house.office
    if about.get("person"):
        found = find_person(office, id=about["person"])
        if found is None:
            raise not_found()
        set_password(office, found.id, password)
        return found
    made = add_person(office, _name(about, given), about["role"], password)
    end_links(office, "welcome", OWNERS)  # there is an owner now: she invites others herself
    return made


def _name(about: dict[str, str], given: dict[str, str]) -> str:
    return given.get("name") or about.get("name", "owner")


def _used_up() -> Problem:
    return Problem(
        410, "used-up",
        "This link has been used or is too old; ask whoever sent it for another. The operator "
        "makes one with `sfumato serve --new-owner`.",
    )  # fmt: skip

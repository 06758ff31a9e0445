"""`sf.connect`: ask a server as one asks a session.

Contract: a :class:`RemoteSession` has the names of `sf.Session` that make sense without the rows:
`sql`, `estimate`, `standing`, `remaining`, `spent`, `dummy`. An answer is the same `Answer`, with
intervals and pictures; an error of the server is raised as the error that a session would raise.
Nothing but the standard library is needed, and the token goes to the address that was named and
nowhere else: redirects are not followed.

    client = sf.connect("https://data.example.org", token="sfm_…")
    session = client.session("patients", purpose="research")
    answer = session.sql("SELECT COUNT(*) FROM patients", epsilon=0.1)
"""

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from sfumato import errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.answers.answer import Answer

_WAIT = 10
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


def connect(url: str, *, token: str) -> Client:
    """Connect to a server; the token is made on its account page."""
    return Client(url, token=token)


class Client:
    """A server, as one account sees it."""

    def __init__(self, url: str, *, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise errors.ParameterError("A server's address is like https://data.example.org.")
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            raise errors.ParameterError(
                "A token is not sent without encryption; use https:// beyond this machine."
            )
        self._parts, self._token = parts, token
        self._connection: http.client.HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"<Client of {self._parts.scheme}://{self._parts.netloc}>"

    def datasets(self) -> list[str]:
        """Name the datasets that this account may ask about."""
        found = self.call("GET", "/api/v1/datasets")
        return [dataset["name"] for dataset in found["datasets"]]

    def session(self, dataset: str, *, purpose: str | None = None) -> RemoteSession:
        """Open a session on a dataset, for a purpose."""
        return RemoteSession(self, dataset, purpose)

    def call(
        self, method: str, path: str, body: Any = None, *, wait: int | None = None
    ) -> dict[str, Any]:
        """Send a request and read its JSON; raise what the server says is wrong."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if wait is not None:
            headers["Prefer"] = f"wait={wait}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        status, text = self._send(method, path, data, headers)
        try:
            found = json.loads(text)
        except ValueError:
            raise errors.DataError(f"The server answered {status} without JSON.") from None
        if status >= 400:
            raise _error(found)
        told: dict[str, Any] = found
        return told

    def _send(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send over the connection that is open; once more where it was closed meanwhile."""
        for again in (True, False):
            if self._connection is None:
                secure = self._parts.scheme == "https"
                kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
                self._connection = kind(self._parts.netloc, timeout=120)
            try:
                self._connection.request(method, path, data, dict(headers))
                response = self._connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError):
                self.close()
                if not again or method != "GET":
                    raise errors.DataError(
                        "The server cannot be reached. If a question was under way, look into its "
                        "history before you ask again: the same question is charged once."
                    ) from None
        raise AssertionError

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class RemoteSession:
    """Questions of one account about one dataset of a server."""

    def __init__(self, client: Client, dataset: str, purpose: str | None) -> None:
        self._client, self.dataset, self.purpose = client, dataset, purpose
        self._path = f"/api/v1/datasets/{quote(dataset, safe='')}"

    def __repr__(self) -> str:
        return f"<RemoteSession on {self.dataset} of {self._client!r}>"

    @property
    def standing(self) -> dict[str, Any]:
        """What was spent and what is left of every limit that applies."""
        asked = f"?purpose={quote(self.purpose, safe='')}" if self.purpose else ""
        return self._client.call("GET", f"{self._path}/standing{asked}")

    @property
    def remaining(self) -> dict[str, float]:
        """What is left of the tightest limit."""
        return self._tightest("remaining")

    @property
    def spent(self) -> dict[str, float]:
        """What was spent of the tightest limit."""
        return self._tightest("spent")

    def _tightest(self, what: str) -> dict[str, float]:
        found = self.standing
        chosen = next(limit for limit in found["limits"] if limit["scope"] == found["tightest"])
        told: dict[str, float] = chosen[what]
        return told

    def sql(
        self,
        question: str,
        *,
        bounds: Mapping[str, Any] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        **price: Any,
    ) -> Answer:
        """Answer a question in SQL, at a price (epsilon=, rho=, delta=) or with an accuracy=."""
        body = self._body(question, price, bounds, keys)
        told = self._client.call("POST", f"{self._path}/questions", body, wait=_WAIT)
        while told["state"] in {"queued", "charged"}:
            time.sleep(0.25)
            told = self._client.call("GET", f"/api/v1/questions/{told['id']}")
        if told["state"] == "failed":
            raise errors.WorkFailed(
                f"The server could not answer ({told['code']}); "
                + ("its charge stays." if told["charged"] else "nothing was charged."),
                charge=told["charge"] or 0,
                code=str(told["code"]),
            )
        return _answer(told["answer"])

    def estimate(
        self,
        question: str,
        *,
        confidence: float = 0.95,
        bounds: Mapping[str, Any] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        **price: Any,
    ) -> dict[str, Any]:
        """Tell what a question would cost and how far off it would be; nothing is spent."""
        body = {
            "questions": [self._body(question, price, bounds, keys)],
            "confidence": confidence,
        }
        [found] = self._client.call("POST", f"{self._path}/estimates", body)["estimates"]
        if "problem" in found:
            raise _error(found["problem"])
        told: dict[str, Any] = found
        return told

    def dummy(self, rows: int = 100) -> dict[str, Any]:
        """Give rows made from public facts alone, to rehearse on: columns and rows."""
        return self._client.call("GET", f"{self._path}/dummy?rows={rows}")

    def _body(
        self,
        question: str,
        price: Mapping[str, Any],
        bounds: Mapping[str, Any] | None,
        keys: Mapping[str, Sequence[Any]] | None,
    ) -> dict[str, Any]:
        stated = {name: value for name, value in price.items() if value is not None}
        return {
            "question": question,
            "purpose": self.purpose,
            "price": stated,
            "bounds": {name: list(ends) for name, ends in (bounds or {}).items()},
            "keys": {name: list(values) for name, values in (keys or {}).items()},
        }


def _answer(told: Mapping[str, Any]) -> Answer:
    from sfumato.ask.answers.answer import Answer  # noqa: PLC0415 - loaded when there is one
    from sfumato.ask.answers.answer_records import load_fields  # noqa: PLC0415 - the same

    return Answer(**load_fields(told["artefact"]), stored=told["stored"])


def _error(problem: Mapping[str, Any]) -> errors.SfumatoError:
    """Give the error that a session would have raised."""
    code, detail = str(problem.get("code")), str(problem.get("detail"))
    if code == "budget-exceeded":
        return errors.BudgetExceeded(detail, limit=problem.get("limit"))
    if code == "wrong-purpose":
        return errors.PurposeRefused(detail)
    if code == "under-way":
        return errors.AlreadyUnderWay(detail)
    if "nearest" in problem:
        return errors.Refused(detail, code=code, nearest=problem.get("nearest"))
    if code in {"rules", "not-known", "not-allowed", "not-found"}:
        return errors.GovernanceError(detail)
    return errors.ParameterError(detail)

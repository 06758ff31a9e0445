"""How reports travel: one message of 32 bytes and then the reports, or the same as JSON."""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Address": "messages",
    "Message": "messages",
    "Reader": "messages",
    "Reason": "messages",
    "encode": "messages",
    "encode_json": "json_lines",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)

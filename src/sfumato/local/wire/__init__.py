"""How reports travel: one message of 32 bytes and then the reports, or the same as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.local.wire.json_lines import encode_json as encode_json
    from sfumato.local.wire.messages import Address as Address
    from sfumato.local.wire.messages import Message as Message
    from sfumato.local.wire.messages import Reason as Reason
    from sfumato.local.wire.messages import encode as encode
    from sfumato.local.wire.reader import Reader as Reader

_HOME = {
    "Address": "messages",
    "Message": "messages",
    "Reader": "reader",
    "Reason": "messages",
    "encode": "messages",
    "encode_json": "json_lines",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)

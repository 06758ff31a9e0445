"""What it means to be anonymous: definitions that judge what a stranger sees."""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "Conjunction": "definition",
    "Definition": "definition",
    "KAnonymity": "anonymity",
    "Option": "option",
    "SensitiveDefinition": "definition",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

__getattr__, __dir__ = lazy_names(__name__, _HOME)

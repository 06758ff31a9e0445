"""What it means to be anonymous: definitions that judge what a stranger sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.anonymize.definitions.anonymity import KAnonymity as KAnonymity
    from sfumato.anonymize.definitions.definition import Conjunction as Conjunction
    from sfumato.anonymize.definitions.definition import Definition as Definition
    from sfumato.anonymize.definitions.definition import SensitiveDefinition as SensitiveDefinition
    from sfumato.anonymize.definitions.option import Option as Option

_HOME = {
    "Conjunction": "definition",
    "Definition": "definition",
    "KAnonymity": "anonymity",
    "Option": "option",
    "SensitiveDefinition": "definition",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - names of strings, computed

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)

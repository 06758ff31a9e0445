"""Conformance kits: the rules our parts follow, to be run on parts of your own.

Each kit takes one object, tries it on inputs it makes itself, and raises `AssertionError`
at the first broken rule. The names are loaded on first use.
"""

from __future__ import annotations

from sfumato.lazy import lazy_names

_HOME = {
    "DefinitionCheck": "definitions",
    "EngineCheck": "engines",
    "MechanismCheck": "mechanisms",
    "allow_known_noise": "known_noise",
    "check_algorithm": "algorithms",
    "check_definition": "definitions",
    "check_engine": "engines",
    "check_mechanism": "mechanisms",
    "epsilon_lower_bound": "blackbox",
    "fuzz_questions": "fuzz.questions",
    "fuzz_releases": "fuzz.releases",
    "lowest_bits": "blackbox",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

__getattr__, __dir__ = lazy_names(__name__, _HOME)

"""Conformance kits: the rules our parts follow, to be run on parts of your own.

Each kit takes one object, tries it on inputs it makes itself, and raises `AssertionError`
at the first broken rule. The names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:  # what a type checker sees; a test holds it against the table below
    from sfumato.testing.algorithms import check_algorithm as check_algorithm
    from sfumato.testing.blackbox import epsilon_lower_bound as epsilon_lower_bound
    from sfumato.testing.blackbox import lowest_bits as lowest_bits
    from sfumato.testing.definitions import DefinitionCheck as DefinitionCheck
    from sfumato.testing.definitions import check_definition as check_definition
    from sfumato.testing.engines import EngineCheck as EngineCheck
    from sfumato.testing.engines import check_engine as check_engine
    from sfumato.testing.fuzz.questions import fuzz_questions as fuzz_questions
    from sfumato.testing.fuzz.releases import fuzz_releases as fuzz_releases
    from sfumato.testing.known_noise import allow_known_noise as allow_known_noise
    from sfumato.testing.mechanisms import MechanismCheck as MechanismCheck
    from sfumato.testing.mechanisms import check_mechanism as check_mechanism
    from sfumato.testing.table_engines import TableEngineCheck as TableEngineCheck
    from sfumato.testing.table_engines import check_table_engine as check_table_engine

_HOME = {
    "DefinitionCheck": "definitions",
    "EngineCheck": "engines",
    "TableEngineCheck": "table_engines",
    "MechanismCheck": "mechanisms",
    "allow_known_noise": "known_noise",
    "check_algorithm": "algorithms",
    "check_definition": "definitions",
    "check_engine": "engines",
    "check_mechanism": "mechanisms",
    "check_table_engine": "table_engines",
    "epsilon_lower_bound": "blackbox",
    "fuzz_questions": "fuzz.questions",
    "fuzz_releases": "fuzz.releases",
    "lowest_bits": "blackbox",
}

__all__ = [*sorted(_HOME)]  # noqa: PLE0604 - names of the table above

if not TYPE_CHECKING:  # a name that is not listed is a slip
    __getattr__, __dir__ = lazy_names(__name__, _HOME)

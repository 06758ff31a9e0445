"""Trees: records that branch, such as patients with visits with diagnoses; one tree per person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, Field

from sfumato.data.reading_options import TreesReading, check_reading
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.anonymize.trees.artefact import TreesArtefact
    from sfumato.attack.attack import Attack, Knowledge
    from sfumato.audit.verification.verify import Verification
    from sfumato.data.trees.suggestions import TreeSuggestions
    from sfumato.data.trees.trees import Trees
    from sfumato.decision import Decision
    from sfumato.promise import StatedPromise
    from sfumato.release import Release
    from sfumato.released.trees import TreesView


class TreeOptions(BaseModel):
    """What `sfumato anonymize --shape trees` can be told beside the promise."""

    cut: bool | None = Field(
        None,
        description="For k^(m,n): whether vertices may be cut off from their parents; they may.",
    )
    seed: int | None = Field(
        None, description="Repeat the order of trees; not for what you publish."
    )


class TreeShape(Shape):
    """One rooted, unordered tree per person."""

    name: ClassVar[str] = "trees"
    unit: ClassVar[str] = "tree"
    files: ClassVar[tuple[str, ...]] = ("release.jsonl", "trees.json", "release.xml")

    options: ClassVar[Mapping[str, Any]] = {"anonymize": TreeOptions}

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> Trees:
        """Bring JSON, JSON lines, XML or nested values in."""
        from sfumato.data.trees.sources import read_trees  # noqa: PLC0415 - loaded when used

        check_reading(TreesReading, options)
        return read_trees(source, schema=schema, **options)

    def suggest(self, source: Any) -> TreeSuggestions:
        """Suggest roles for the labels of every vertex type."""
        from sfumato.data.trees.suggestions import inspect_trees  # noqa: PLC0415 - loaded when used

        return inspect_trees(source)

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return classes of like trees and cutting apart."""
        from sfumato.anonymize.trees.algorithms import ALGORITHMS  # noqa: PLC0415 - heavy

        return ALGORITHMS

    def check(self, data: Trees, promise: Any) -> None:
        """Refuse a promise that no release of these trees can keep."""
        from sfumato.anonymize.trees.algorithms import check_promise  # noqa: PLC0415 - heavy

        check_promise(data, promise)

    def apply(self, data: Trees, decision: Decision) -> TreesArtefact:
        """Make the released trees."""
        from sfumato.anonymize.trees.artefact import apply  # noqa: PLC0415 - heavy

        return apply(data, decision)

    def losses(self, data: Trees, decision: Decision, artefact: Any) -> Mapping[str, float]:
        """Return what vertices of every type, and structure, lost."""
        from sfumato.anonymize.trees.loss import measure  # noqa: PLC0415 - heavy

        return measure(data, decision, artefact)

    def view(self, source: Any, *, schema: Any = None, **options: Any) -> TreesView:
        """Look at a released file."""
        from sfumato.released.trees import see_trees  # noqa: PLC0415 - loaded when used

        return see_trees(source, schema=schema, **options)

    def verify(self, view: TreesView, promise: StatedPromise, **options: Any) -> Verification:
        """Count like trees, like vertices and known facts by code of its own."""
        from sfumato.audit.verification.trees import verify_trees  # noqa: PLC0415 - loaded when used

        return verify_trees(view, promise, **options)

    def original(self, release: Release) -> Trees:
        """Return the trees as they came."""
        data: Trees = release.decision.content.data
        return data

    def attacks(self, view: TreesView, knowledge: Knowledge) -> Iterable[Attack]:
        """Return the attacks of people who know a part of a tree, or all of it."""
        from sfumato.attack.trees.attacks import tree_attacks  # noqa: PLC0415 - loaded when used

        return tree_attacks(view, knowledge)

    def sections(self) -> tuple[Any, ...]:
        """Return what the report says of classes and vertices."""
        from sfumato.report.trees.sections import SECTIONS  # noqa: PLC0415 - loaded when used

        return SECTIONS


TREES = TreeShape()

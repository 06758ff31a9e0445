"""What a session publishes once: a synthetic copy, clusters, winners, distributions, maps.

These are methods of :class:`~sfumato.ask.session.session.Session`. Each is charged to the ledger
like an answer and given again for nothing; ``predict`` tells what it will be worth before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sfumato.ask.session.desk import Desk
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release


class PublishingMethods(Shown):
    """The methods of a session that make one artefact, to be used for ever."""

    desk: Desk
    _closed: bool

    def synthesize(
        self,
        *,
        epsilon: Stated | None = None,
        delta: Stated | None = None,
        rho: Stated | None = None,
        **options: Any,
    ) -> Release:
        """Make a synthetic copy of the dataset that may be given away, charged to the ledger.

        Columns with bounds or keys are synthesised; `columns` declares others, `search` is the
        share of the price that may be spent on finding them. `target`, `constraints` and `size`
        are as for `sf.dp.synthesize`.
        """
        from sfumato.ask.session.synthesis import synthesize  # noqa: PLC0415 - loaded when used

        self._check_open()
        return synthesize(self.desk, epsilon=epsilon, delta=delta, rho=rho, **options)

    def kmeans(
        self,
        columns: Sequence[str],
        k: int,
        *,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        algorithm: str = "best",
        **price: Any,
    ) -> Release:
        """Release the centres and sizes of k clusters; ``.data`` is the fitted `sf.dp.KMeans`.

        `price` is epsilon=, rho=, or epsilon= with delta= where that pays off: for very many
        columns.
        """
        options = {"bounds": bounds, "algorithm": algorithm}
        return self._publish("kmeans", (columns, k), options, price)

    def top_k(
        self,
        column: str,
        k: int,
        *,
        values: Sequence[Any] | None = None,
        counts: bool = False,
        set_size: int = 1,
        **price: Any,
    ) -> Release:
        """Release the k most frequent values of a column; a person counts once for each value.

        `values` is the public list, the schema's when left out; without any, epsilon= and delta=
        are needed. With `set_size` 2 or 3, sets of values that people have together win, too.
        """
        options = {"values": values, "counts": counts, "set_size": set_size}
        return self._publish("top_k", (column, k), options, price)

    def set_union(self, column: str, *, at_most: int = 50, **price: Any) -> Release:
        """Release which values of a column occur, as many as privacy allows: search words.

        Nobody has to list them. `at_most` values of each person are used; `price` is epsilon= and
        delta=.
        """
        return self._publish("set_union", (column,), {"at_most": at_most}, price)

    def quantiles(
        self, column: str, *, bounds: Any = None, cells: Any = 4096, **price: Any
    ) -> Release:
        """Release a column's distribution once: ``.data`` answers any ranges and quantiles."""
        return self._publish("quantiles", (column,), {"bounds": bounds, "cells": cells}, price)

    def spatial_histogram(
        self,
        x: str,
        y: str,
        *,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        side: int = 256,
        use: str = "ranges",
        **price: Any,
    ) -> Release:
        """Release how many are where, on a grid that is fine where many are.

        ``.data`` answers any rectangle and draws the map; rows beyond the bounds are left out.
        """
        options = {"bounds": bounds, "side": side, "use": use}
        return self._publish("spatial_histogram", (x, y), options, price)

    def predict(self, what: str, *arguments: Any, rows: int, **options: Any) -> Any:
        """Tell what `kmeans`, `top_k`, `set_union`, `quantiles`, … will be worth; nothing is spent.

        ``session.predict("kmeans", ["x", "y"], 5, rows=10_000, epsilon=1)``: arguments are those of
        the method, `rows` is a public guess of the number of rows.
        """
        from sfumato.ask.session.publications import named  # noqa: PLC0415 - loaded when used
        from sfumato.ask.session.publish import predict  # noqa: PLC0415 - the same

        self._check_open()
        names = ("epsilon", "delta", "rho")
        price = {name: value for name, value in options.items() if name in names}
        if what == "synthesize":
            from sfumato.ask.session.synthesis import predict_copy  # noqa: PLC0415 - the same

            return predict_copy(self.desk, rows=rows, **options)
        given = {name: value for name, value in options.items() if name not in names}
        return predict(self.desk, named(self.desk, what, arguments, given, price), rows, price)

    def save(self, release: Release, folder: str | Path, **options: Any) -> Path:
        """Save a release that was made here, recorded in the ledger before it appears.

        Options are those of `release.save`; returns the data file.
        """
        from sfumato.govern.releases import save_recorded  # noqa: PLC0415 - loaded when used

        self._check_open()
        return save_recorded(release, folder, self.desk.spending, **options)

    def _publish(
        self, what: str, arguments: tuple[Any, ...], options: dict[str, Any], price: dict[str, Any]
    ) -> Release:
        from sfumato.ask.session.publications import named  # noqa: PLC0415 - loaded when used
        from sfumato.ask.session.publish import publish  # noqa: PLC0415 - the same

        self._check_open()
        return publish(self.desk, named(self.desk, what, arguments, options, price), price)

    def _check_open(self) -> None:
        if self._closed:
            raise ParameterError("This session is closed; open it again to ask.")

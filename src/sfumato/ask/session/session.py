"""A session: one analyst, one dataset, one purpose, and the budget they share with others.

Contract, in the order in which things happen to a question:

1. It is parsed, bounded, priced: from the question and public facts alone. A refusal here costs
   nothing and tells nothing.
2. If the same analyst has asked the canonically same question of the same data, the stored answer
   is given again, for nothing.
3. Its cost is charged to the ledger, durably, against every limit that applies. If it does not
   fit, :class:`~sfumato.errors.BudgetExceeded`.
4. Only now the engine is asked, noise is added, and the answer is stored and given.

If anything fails after the charge, the charge stays: an error must not be a free question.
The owner fixes unit, bounds and public keys when the dataset is first registered in the ledger;
a session that states others is refused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self, overload

from sfumato.ask.session.desk import Desk
from sfumato.ask.session.learning_methods import LearningMethods
from sfumato.ask.session.open import open_dataset
from sfumato.ask.session.submission import Submission, read_submission
from sfumato.ask.sql.grouping_sets import split_grouping_sets
from sfumato.errors import ParameterError
from sfumato.govern.limits import in_short
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.answers.answer import Answer, AnswerForecast
    from sfumato.ask.language.language import Question
    from sfumato.ask.shaped.session import ShapedSession
    from sfumato.data.graphs.graph import Graph
    from sfumato.data.sets.sets import Sets
    from sfumato.data.trajectories.trajectories import Trajectories
    from sfumato.data.trees.trees import Trees
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours, PrivacyUnit
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.ledger import Ledger
    from sfumato.govern.limits import Limits
    from sfumato.govern.policies import SpendingPolicy
    from sfumato.govern.spending import Spending
    from sfumato.govern.standing import Standing


_OTHER_SHAPES = ("graph", "trees", "sets", "trajectories")


class Session(LearningMethods):
    """Questions of one analyst about one dataset, under a budget that the ledger keeps.

    ``desk`` takes the steps of each question; nothing of it needs to be called. On data of another
    shape (a graph, trees, sets, traces) it is a
    :class:`~sfumato.ask.shaped.session.ShapedSession`, which answers statistics such as
    ``sf.dp.queries.Triangles()`` and makes synthetic copies.

    >>> import sfumato as sf
    >>> people = {"age": [30, 41, 52]}
    >>> with sf.Session(people, name="people", unit="row", budget=sf.PureDP(1)) as session:
    ...     answer = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    >>> answer.guarantee.epsilon
    0.5
    """

    @overload
    def __new__(  # type: ignore[misc]
        cls, source: Graph | Trees | Sets | Trajectories, **options: Any
    ) -> ShapedSession: ...
    @overload
    def __new__(cls, source: Any = None, **options: Any) -> Self: ...
    def __new__(cls, source: Any = None, **options: Any) -> Any:
        """Open a session on data that are no table, where such data are given."""
        if cls is Session and getattr(source, "shape", None) in _OTHER_SHAPES:
            from sfumato.ask.shaped.session import ShapedSession  # noqa: PLC0415 - loaded when used

            return ShapedSession(source, **options)
        return super().__new__(cls)

    def __init__(
        self,
        source: Any,
        *,
        unit: PrivacyUnit | str | None = None,
        budget: Guarantee | None = None,
        analyst: str = "analyst",
        purpose: str | None = None,
        ledger: Ledger | str | None = None,
        name: str | None = None,
        schema: Any = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        public: Mapping[str, Any] | None = None,
        private: Mapping[str, Any] | None = None,
        public_types: bool | Sequence[str] = False,
        time_zone: str | None = None,
        limits: Limits | None = None,
        policy: SpendingPolicy | None = None,
    ) -> None:
        """Open a session.

        `source` is whatever `sf.read` takes, a DuckDB file, ``postgresql://…``, a Spark table, or a
        list of such: blocks of rows with budgets of their own. `unit` is "row" or
        ``Unit("user_id", rows=5)``. `budget` limits all analysts of the dataset together;
        `limits` states limits per analyst and purpose as well. `bounds` and `keys` are public
        facts about columns, beside those of the schema. `public` and `private` name further
        tables to join: public ones, and private ones with the same person column. Of which type a
        column is follows from the schema, `bounds`, `keys` or the catalogue of a database; the type
        of a frame's column, or what the cells of a file look like, one person can change, so
        questions about such columns are refused unless `public_types` names them, or is True:
        then what they look like may be known. Instants, which have a time zone of their own, have
        their days in `time_zone`, UTC unless stated. Without
        `ledger`, that of a file lies beside it, that of a table of Postgres or Spark in the user's
        data directory, and that of a frame or of an engine of your own ends with the session.
        """
        if not isinstance(analyst, str) or not analyst:
            raise ParameterError(
                Message("{} is the name of whoever asks, such as 'ann'.", Argument("analyst"))
            )
        dataset = open_dataset(
            source,
            unit=unit,
            budget=budget,
            ledger=ledger,
            name=name,
            schema=schema,
            bounds=bounds or {},
            keys=keys or {},
            public=public or {},
            private=private or {},
            public_types=_public_types(public_types),
            time_zone=time_zone,
            limits=limits,
            policy=policy,
        )
        self.desk = Desk(dataset, analyst, dataset.purpose_of(purpose))
        self._closed = False

    # -- what it is ---------------------------------------------------------------------

    @property
    def analyst(self) -> str:
        """Whoever asks."""
        return self.desk.analyst

    @property
    def purpose(self) -> str | None:
        """What the answers are for."""
        return self.desk.purpose

    @property
    def dataset(self) -> str:
        """The name under which the ledger knows the dataset."""
        return self.desk.opened.dataset

    @property
    def ledger(self) -> Ledger:
        """Where charges and answers are kept."""
        return self.desk.opened.ledger

    @property
    def spending(self) -> Spending:
        """The one way to use up the budget, for whatever is not a question."""
        return self.desk.spending

    @property
    def unit(self) -> PrivacyUnit:
        """Whose presence is hidden, with the bounds that are enforced."""
        return self.desk.opened.unit

    @property
    def time_zone(self) -> str:
        """The time zone in which instants have their days, as registered."""
        return self.desk.opened.registration.time_zone

    @property
    def neighbours(self) -> Neighbours:
        """What is hidden: one unit added or removed, or (of a bounded budget) replaced."""
        return self.desk.spending.neighbours

    @property
    def size(self) -> int:
        """How many units there are, where that is public: one is replaced (bounded neighbours)."""
        return self.desk.size()

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks of rows, in the order in which they were given; the first is 'main'."""
        return self.desk.opened.blocks

    @property
    def budget(self) -> Guarantee:
        """The smallest limit that applies to this analyst and purpose."""
        return self.desk.budget(self.desk.now())

    @property
    def standing(self) -> Standing:
        """Every limit that applies, with what was spent of it."""
        return self.desk.standing(self.desk.now())

    @property
    def remaining(self) -> Guarantee:
        """What is left of the tightest limit."""
        return self.standing.remaining

    @property
    def spent(self) -> Guarantee:
        """What has been spent of the tightest limit, by everyone it applies to."""
        return self.standing.spent

    def __repr__(self) -> str:
        return (
            f"<Session of {self.analyst} on {self.dataset}, for {self.unit}: "
            f"{in_short(self.remaining)} left>"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the engine and the ledger, where they are this session's own."""
        if not self._closed:
            self._closed = True
            self.desk.opened.close()

    # -- asking -------------------------------------------------------------------------

    def sql(
        self,
        question: str,
        *,
        epsilon: Stated | None = None,
        rho: Stated | None = None,
        delta: Stated | None = None,
        accuracy: float | None = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        blocks: Sequence[str] | None = None,
    ) -> Answer:
        """Answer a question in SQL, at a price or with an accuracy.

        `accuracy` is the half-width of the 95 % interval that every number should have; the
        smallest ε that gives it is found, shown and charged. `bounds` clamp columns and `keys`
        names public values of columns, for this question, where the owner fixed none. `blocks`
        names the blocks of rows it is about, as ``session.blocks`` lists them; all if absent.
        ROLLUP, CUBE and GROUPING SETS give every grouping an equal share of the price.
        """
        split = split_grouping_sets(question) if isinstance(question, str) else None
        if split is not None:
            from sfumato.ask.session.grouped import answer_grouped  # noqa: PLC0415 - loaded when used

            submit = partial(self._submit, bounds=bounds, keys=keys, blocks=blocks)
            price = {"epsilon": epsilon, "rho": rho, "delta": delta, "accuracy": accuracy}
            return answer_grouped(self.desk, split, submit, **price)
        submission = self._submit(question, bounds, keys, blocks)
        return self.desk.ask(submission, epsilon=epsilon, rho=rho, delta=delta, accuracy=accuracy)

    def table(self, name: str | None = None) -> Any:
        """Begin a question in Python about a table; the dataset's own when none is named."""
        from sfumato.ask.fluent.tables import begin  # noqa: PLC0415 - loaded when used

        return begin(self, name or self.desk.opened.table)

    def ask(
        self,
        question: Submission | Question | Any,
        *,
        epsilon: Stated | None = None,
        rho: Stated | None = None,
        delta: Stated | None = None,
        accuracy: float | None = None,
        blocks: Sequence[str] | None = None,
    ) -> Answer:
        """Answer a question that was written in Python; about some blocks of rows, or all."""
        submission = self._submit(question, blocks=blocks)
        return self.desk.ask(submission, epsilon=epsilon, rho=rho, delta=delta, accuracy=accuracy)

    def together(
        self,
        questions: Sequence[str | Submission | Question],
        *,
        epsilon: Stated | None = None,
        rho: Stated | None = None,
        delta: Stated | None = None,
        blocks: Sequence[str] | None = None,
    ) -> list[Answer]:
        """Answer several questions at once, each at the price given.

        Where their conditions prove that no row is in two of them, and the unit is the row, they
        cost together what the dearest costs alone; otherwise their costs add up.
        """
        from sfumato.ask.session.together import answer_together  # noqa: PLC0415 - loaded when used

        asked = [self._submit(question, blocks=blocks) for question in questions]
        return answer_together(self.desk, asked, epsilon=epsilon, rho=rho, delta=delta)

    def estimate(
        self,
        question: str | Submission | Question,
        *,
        epsilon: Stated | None = None,
        rho: Stated | None = None,
        delta: Stated | None = None,
        accuracy: float | None = None,
        confidence: float = 0.95,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        blocks: Sequence[str] | None = None,
    ) -> AnswerForecast:
        """Tell what a question would cost and how far off it would be; nothing is spent.

        With `accuracy` it tells the least price that gives it; not for means, whose error depends
        on the number of rows.
        """
        from sfumato.ask.answers.estimate import estimate_answer  # noqa: PLC0415 - loaded when used
        from sfumato.ask.session.pilot import find_price  # noqa: PLC0415 - the same

        price = {"epsilon": epsilon, "rho": rho, "delta": delta, "accuracy": accuracy}
        split = split_grouping_sets(question) if isinstance(question, str) else None
        if split is not None:
            from sfumato.ask.session.grouped import estimate_grouped  # noqa: PLC0415 - the same

            submit = partial(self._submit, bounds=bounds, keys=keys, blocks=blocks)
            return estimate_grouped(self.desk, split, submit, confidence, **price)
        submission = self._submit(question, bounds, keys, blocks)
        desk, now = self.desk, self.desk.now()
        prepared = desk.prepare(
            submission, now, **find_price(desk, now, submission, price, spending=False)
        )
        promised = desk.guarantee(prepared.allocation, now)
        return estimate_answer(
            prepared, promised, desk.standing(now, submission.blocks), confidence
        )

    def histogram(
        self,
        columns: str | Sequence[str],
        *,
        bins: Any = None,
        sums: str | Sequence[str] | None = None,
        counts: bool = True,
        where: str | None = None,
        bounds: Any = None,
        missing: bool = False,
        **price: Any,
    ) -> Answer:
        """Count the rows in bins of one column or several, and add up `sums` in each of them.

        `bins` is a number of bins within declared `bounds`, a list of edges or of categories, or
        a mapping of such by column. All bins are answered, empty ones too; rows beyond them are
        left out, and with `missing` those without a value have a bin. `where` is a condition in
        SQL; `price` is epsilon=, rho=, delta= or accuracy=, and blocks=, as for `sql`.
        """
        from sfumato.ask.binned.histograms import histogram_question  # noqa: PLC0415 - loaded when used

        asked = histogram_question(
            self.desk.opened, columns, bins=bins, sums=sums, counts=counts, where=where,
            bounds=bounds, missing=missing,
        )  # fmt: skip
        return asked.noted(self.ask(asked.question, **price))

    def map(
        self,
        *,
        latitude: str,
        longitude: str,
        box: tuple[Any, Any, Any, Any],
        rows: int = 20,
        columns: int = 20,
        sums: str | Sequence[str] | None = None,
        counts: bool = True,
        where: str | None = None,
        bounds: Any = None,
        **price: Any,
    ) -> Answer:
        """Count the rows in the cells of a grid on the globe; `answer.picture()` draws the map.

        `box` is (south, west, north, east) in degrees, a public choice: rows outside are left out.
        """
        from sfumato.ask.binned.histograms import map_question  # noqa: PLC0415 - loaded when used

        asked = map_question(
            self.desk.opened, latitude=latitude, longitude=longitude, box=box, rows=rows,
            columns=columns, sums=sums, counts=counts, where=where, bounds=bounds,
        )  # fmt: skip
        return asked.noted(self.ask(asked.question, **price))

    # -- steps --------------------------------------------------------------------------

    def _submit(
        self,
        question: str | Submission | Question | Any,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
        blocks: Sequence[str] | None = None,
    ) -> Submission:
        self._check_open()
        return read_submission(
            self.desk.opened, question, bounds=bounds or {}, keys=keys or {}, blocks=blocks,
            answerable=self.desk.answerable,
        )  # fmt: skip


def _public_types(given: bool | Sequence[str]) -> bool | tuple[str, ...]:
    """Read of which columns it may be known what their cells look like."""
    if isinstance(given, bool):
        return given
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise ParameterError(
            Message("{} is True, or a list of names of columns.", Argument("public_types"))
        )
    return tuple(given)


# `help` and completion show what `__init__` takes; `inspect.signature` looks at `__new__` first.
Session.__new__.__wrapped__ = Session.__init__  # type: ignore[attr-defined]

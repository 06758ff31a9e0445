"""What left the mechanisms on one data set is given again on another: then nothing may differ.

A :class:`Tape` records, in order, which mechanisms were called, with which public parameters, and
what they put out. Played again while the same function works on a neighbouring data set, every
mechanism is called alike and puts out what it did before, whatever the data are. Whatever differs
then (a result, the words it shows, a failure, a warning, a line that is printed) has been computed
from rows by another way, which no guarantee covers. :func:`differences` looks everywhere in two
results.

Mechanisms are known in three ways. Noise that is added to numbers comes from three functions of
:mod:`sfumato.dp.noise`; what they give is watched until it is added. Every release by a subclass of
``Mechanism`` is found by itself. Those that choose or sample are listed in ``WHOLE``. Noise that
reaches a result by any other way fails the test, so a new mechanism has to be entered here.
Mechanisms that name what nobody listed give one number per name; their numbers are kept by name,
and a name that is new is below every threshold. The larger of them are made equal, since outputs
may be any: what is put in order by them alone is then put in order by something else.

What mechanisms are given is compared too: one record moves it no further than noise and promise
allow, wherever no rows were drawn at random before.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import inspect
import io
import logging
import pickle
import sys
import threading
import types
import warnings
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.mechanisms.base import Mechanism
from sfumato.dp.noise.stream import _instead, _SeededStream
from sfumato.dp.normal import gaussian_sigma_up

_tape: ContextVar[Tape | None] = ContextVar("tape", default=None)
_BELOW = -(10**15)


class Told(AssertionError):
    """Mechanisms were called in another way, which tells data sets apart."""


class Coins(_SeededStream):
    """Randomness between two outputs of mechanisms: the same for all data."""

    secure = True

    def begin(self, number: int) -> None:
        """Start afresh, so that nothing depends on how much was drawn before."""
        self._seed = hashlib.sha512(b"coins %d" % number).digest()
        self._rekey()

    @property
    def served(self) -> int:
        """How much was drawn since."""
        return self._served


@dataclass
class Tape:
    """Calls of mechanisms and their outputs; ``playing`` tells that they are given again."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    heard: dict[int, Any] = field(default_factory=dict)
    playing: bool = False
    place: int = 0
    inside: int = 0
    open: set[int] = field(default_factory=set)
    coins: Coins = field(default_factory=lambda: Coins(0))
    told: list[str] = field(default_factory=list)
    exact: dict[int, Any] = field(default_factory=dict)
    by_chance: bool = False
    loss: Fraction = Fraction(0)  # of discrete Laplace noise: Σ ‖moved‖₁/scale
    square: Fraction = Fraction(0)  # of Gaussian noise: Σ ‖moved‖₂²/variance

    def called(self, name: str, *public: Any) -> int:
        """Note a call, or check that it is the one that was made on the other data."""
        said = (name, repr(public))
        if self.playing and (self.place >= len(self.calls) or self.calls[self.place] != said):
            wanted = self.calls[self.place] if self.place < len(self.calls) else "none"
            raise self.tell(f"call {self.place} of a mechanism is {said}, and was {wanted}")
        if not self.playing:
            self.calls.append(said)
        self.place += 1
        # Rows that were drawn at random are other rows of a neighbour, and compare with none.
        self.by_chance = self.coins.served > 0
        return self.place - 1

    def tell(self, how: str) -> Told:
        """Keep that calls differ: a session turns every failure into one of its own."""
        self.told.append(how)
        return Told(how)

    def drawn(self, make: Any) -> Any:
        """Let a mechanism draw what it needs."""
        self.inside += 1
        try:
            return make()
        finally:
            self.inside -= 1

    def output(self, place: int, make: Any) -> Any:
        """Give what a mechanism puts out: drawn now, or heard before."""
        try:
            found = self.drawn(make)  # also when it is played: it may fail, or be of another kind
            if not self.playing:
                self.heard[place] = pickle.dumps(found)
                return found
            heard = pickle.loads(self.heard[place])
            if (type(found), np.shape(found)) != (type(heard), np.shape(heard)):
                raise self.tell(f"an output is {type(found)}, and was {type(heard)}")
            return heard
        finally:
            self.coins.begin(place + 1)

    def added(self, noise: Drawn, exact: Any) -> Any:
        """Give exact numbers with noise; of names, each name has its own."""
        self.open.discard(noise.place)
        try:
            self.moves(noise, exact)
            if not self.playing:
                total = np.asarray(np.add(exact, np.asarray(noise)))
                if noise.names is None:
                    self.heard[noise.place] = total
                    return total.copy()
                total = _tied(total)
                self.heard[noise.place] = dict(zip(noise.names, total, strict=True))
                return total
            heard = self.heard[noise.place]
            if noise.names is None:
                if np.broadcast_shapes(np.shape(exact), noise.shape) != heard.shape:
                    raise self.tell(f"{heard.shape} numbers got noise, and now {np.shape(exact)}")
                return heard.copy()
            return np.array([_known(heard, name) for name in noise.names], dtype=np.int64)
        finally:
            self.coins.begin(noise.place + 1)

    def moves(self, noise: Drawn, exact: Any) -> None:
        """Add up what it tells that exact numbers differ; own names of a data set are left out."""
        numbers = [Fraction(int(n)) for n in np.ravel(exact)]
        named = dict(zip(noise.names or range(len(numbers)), numbers, strict=True))
        if not self.playing:
            self.exact[noise.place] = named
            return
        if self.by_chance:
            return
        before = self.exact[noise.place]
        moved = [abs(named[name] - before[name]) for name in named if name in before]
        if noise.law == "discrete_laplace":
            self.loss += sum(moved) / noise.size_of_noise
        else:
            self.square += sum(m**2 for m in moved) / noise.size_of_noise

    def moved_within(self, mechanism: Any, value: Any, place: int) -> None:
        """Check that what a mechanism is given moves no further than it was told."""
        numbers = list(value.values()) if isinstance(value, dict) else value
        given = np.array(numbers, dtype=np.float64).ravel()
        if not self.playing:
            self.exact[place] = given
            return
        moved = np.abs(given - self.exact[place])
        name = type(mechanism).__name__
        far = {"Gaussian": np.linalg.norm(moved), "Geometric": moved.sum(), "Laplace": moved.sum()}
        size = next((far[n] for n in far if n in name), moved.max(initial=0.0))
        if not self.by_chance and size > float(mechanism.sensitivity) * (1 + 1e-9):
            raise self.tell(
                f"{name} was given what moves by {size}, and not {mechanism.sensitivity}"
            )


def _tied(total: Any) -> Any:
    """Make the larger numbers equal."""
    most = int(total.max()) if total.size else 0
    step = 1 << max(most.bit_length() - 1, 0)
    return np.where(total > step // 2, total + -total % step, total)


def _known(heard: dict[Any, Any], name: Any) -> Any:
    return heard.get(name, _BELOW)


class Drawn(np.ndarray):
    """Noise that has not been added yet."""

    def __array_finalize__(self, other: Any) -> None:
        for name in ("place", "names", "law", "size_of_noise"):
            setattr(self, name, getattr(other, name, None))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        tape = _tape.get()
        if tape is None or ufunc is not np.add or method != "__call__":
            plain = [np.asarray(x) if isinstance(x, Drawn) else x for x in inputs]
            return getattr(ufunc, method)(*plain, **options)
        noise = next(x for x in inputs if isinstance(x, Drawn))
        exact = next(x for x in inputs if x is not noise)
        return tape.added(noise, exact)


# -- where mechanisms are -------------------------------------------------------------------------


def _caller(name: str) -> types.FrameType:
    """Find the call of a function of ours that led here, to see for which names noise is."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    assert frame is not None, f"{name} draws noise by name no more; say here who does"
    return frame


def _names() -> list[Any] | None:
    """Give the names that noise is for, where they come from the data and not from a list."""
    asks = sys._getframe(2).f_code.co_name
    if asks == "_unknown":
        return list(_caller("_unknown").f_locals["read"].names)
    if asks == "_passing":
        return list(_caller("set_union").f_locals["read"].names)
    if asks == "show_texts":
        return [text for text, _ in _caller("_found_texts").f_locals["counted"]]
    if asks == "_frequencies" and _caller("_frequencies").f_locals["listed"] is None:
        return list(_caller("_frequencies").f_locals["public"])
    return None


def _noise(original: Any) -> Any:
    @functools.wraps(original)
    def wrapped(size_of_noise: Any, size: int) -> Any:
        tape = _tape.get()
        if tape is None or tape.inside:
            return original(size_of_noise, size)
        names = _names()
        many = size if names is None else "one per name"
        place = tape.called(original.__name__, size_of_noise, many)
        noise = np.asarray(tape.drawn(lambda: original(size_of_noise, size))).view(Drawn)
        noise.place, noise.names = place, names
        noise.law, noise.size_of_noise = original.__name__, Fraction(size_of_noise)
        if size:
            tape.open.add(place)
        return noise

    return wrapped


def _whole(original: Any, public: Any) -> Any:
    """Take a function for a mechanism; ``public`` gives its public parameters."""

    @functools.wraps(original)
    def wrapped(*args: Any, **options: Any) -> Any:
        tape = _tape.get()
        if tape is None or tape.inside:
            return original(*args, **options)
        said = public(*args, **options)
        place = tape.called(original.__qualname__, *said)
        if original.__name__ == "release" and hasattr(args[0], "sensitivity"):
            tape.moved_within(args[0], args[1], place)
        return tape.output(place, lambda: original(*args, **options))

    return wrapped


def _with_noise(original: Any) -> Any:
    """Noise of an answer: numbers of groups that are public, or that were found in the data."""

    @functools.wraps(original)
    def wrapped(exact: list[int], noise: Any) -> Any:
        tape = _tape.get()
        if tape is None or noise is None or not exact:
            return original(exact, noise)
        about = _caller("_noised").f_locals
        names = about["groups"] if about["keys"] is None else None
        place = tape.called("answer", noise, len(exact) if names is None else "one per name")
        drawn = np.array(tape.drawn(lambda: original(exact, noise)), dtype=object) - exact
        told = drawn.view(Drawn)
        told.place, told.names = place, names
        told.law = "discrete_laplace" if noise.kind == "geometric" else "gaussian"
        told.size_of_noise = noise.size
        return tape.added(told, np.array(exact, dtype=object)).tolist()

    return wrapped


def _sampled(original: Any) -> Any:
    """Count a sample, by the combinations of values that nobody listed."""

    @functools.wraps(original)
    def wrapped(counts: Any, share: Any) -> Any:
        tape = _tape.get()
        if tape is None or tape.inside:
            return original(counts, share)
        counted = _caller("_groups").f_locals["counted"]
        cells = zip(*(np.array(v, dtype=object)[c] for v, c in zip(counted.values, counted.codes, strict=True)), strict=True)  # fmt: skip  # noqa: E501
        names = list(cells)
        place = tape.called("sample", share)
        if not tape.playing:
            kept = tape.drawn(lambda: original(counts, share))
            tape.heard[place] = dict(zip(names, kept.tolist(), strict=True))
        tape.coins.begin(place + 1)
        return np.array([tape.heard[place].get(name, 0) for name in names], dtype=np.int64)

    return wrapped


def _trained(original: Any) -> Any:
    """Noise that torch adds in place to the sum of a lot."""

    @functools.wraps(original)
    def wrapped(steps: Any, multiplier: float, sensitivity: float) -> None:
        tape = _tape.get()
        if tape is None:
            return original(steps, multiplier, sensitivity)
        place = tape.called("sum of a lot", multiplier, sensitivity, len(steps))

        def make() -> Any:
            original(steps, multiplier, sensitivity)
            return steps.clone()

        steps.copy_(tape.output(place, make))
        return None

    return wrapped


WHOLE: dict[str, Any] = {
    "dp.publish.topk.peeling:peel": lambda counts, picks, rate: (counts.size, picks, rate),
    "dp.publish.synthesis.currencies:ConcentratedCurrency.choose":
        lambda self, scores, scale, price: (self, scores.size, scale, price),
    "dp.publish.synthesis.currencies:Pure.choose":
        lambda self, scores, scale, price: (self, scores.size, scale, price),
    "dp.publish.synthesis.ladder:climb":
        lambda exact, widths, last, top, epsilon: (last, top, epsilon),
    "dp.publish.statistics.projection:find_limit":
        lambda graph, epsilon, least=1, *, small=True: (epsilon, least, small),
    "dp.mechanisms.quantiles:ExponentialQuantile.release_counted":
        lambda self, points, counts: (self,),
    "dp.mechanisms.above_threshold:Run.ask": lambda self, answer: (self.mechanism,),
}  # fmt: skip
"""Mechanisms that choose, by where they are, with what is public of what they are given."""

OTHER = {
    "dp.noise.laplace:discrete_laplace": _noise,
    "dp.noise.gaussian:rounded_gaussian": _noise,
    "dp.noise.gaussian:discrete_gaussian": _noise,
    "ask.answers.measurement:_with_noise": _with_noise,
    "dp.publish.generalized:_sample": _sampled,
}
TORCH = {"dp.learn.sgd.training:add_noise": _trained}


def _all_mechanisms(kind: type = Mechanism) -> set[type]:
    return {kind}.union(*map(_all_mechanisms, kind.__subclasses__()))


@contextlib.contextmanager
def mechanisms_on_tape(*, torch: bool = False) -> Any:
    """Put a recorder at every mechanism until the block ends; without a tape nothing changes."""
    from sfumato import dp

    for name in dp.__all__:
        getattr(dp, name)  # every mechanism is loaded
    undone: list[tuple[Any, str, Any]] = []

    def put(holder: Any, name: str, new: Any) -> None:
        undone.append((holder, name, getattr(holder, name)))
        setattr(holder, name, new)

    def everywhere(spot: str, make: Any) -> None:
        module, path = spot.split(":")
        holder: Any = importlib.import_module(f"sfumato.{module}")
        *parts, name = path.split(".")
        for part in parts:
            holder = getattr(holder, part)
        original = getattr(holder, name)
        new = make(original)
        if parts:
            put(holder, name, new)
            return
        for key, loaded in list(sys.modules.items()):
            if key.startswith("sfumato.") and vars(loaded).get(name) is original:
                put(loaded, name, new)

    for spot, public in WHOLE.items():
        everywhere(spot, partial(_whole, public=public))
    for spot, make in (OTHER | TORCH if torch else OTHER).items():
        everywhere(spot, make)
    for kind in _all_mechanisms():
        if "release" in vars(kind) and not inspect.isabstract(kind):
            put(kind, "release", _whole(vars(kind)["release"], _of_release))
    for kind in _all_mechanisms():
        if "release" in vars(kind) and inspect.isabstract(kind) and kind is not Mechanism:
            put(kind, "release", _whole(vars(kind)["release"], _of_release))
    try:
        yield
    finally:
        for holder, name, old in reversed(undone):
            setattr(holder, name, old)


def _of_release(self: Any, value: Any) -> tuple[Any, ...]:
    """Public of a release: the mechanism, and of numbers and scores how many they are."""
    rows = type(self).__name__ in {"ExponentialQuantile", "Pricing"}
    if rows:
        return (self,)
    names = tuple(value) if isinstance(value, dict) else np.shape(value)
    return self, names


# -- running and looking -----------------------------------------------------------------------


@dataclass
class Seen:
    """What a run gave and showed: a result or a failure, warnings, printed and logged lines."""

    result: Any
    failure: str
    beside: list[str]
    pickled: bytes


def run(ask: Any, tape: Tape, noted: Any = str) -> Seen:
    """Run a function with a tape, and take down all that can be seen of it.

    ``noted`` gives what it has left elsewhere, such as entries of a ledger.
    """
    tape.place, tape.open, tape.told = 0, set(), []
    tape.loss = tape.square = Fraction(0)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    printed = io.StringIO()
    root = logging.getLogger()
    token = _tape.set(tape)
    result, failure = None, ""
    tape.coins.begin(0)
    root.addHandler(handler)
    try:
        with (
            warnings.catch_warnings(record=True) as warned, _instead(tape.coins),
            contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed),
        ):  # fmt: skip
            warnings.simplefilter("always")
            tape.coins.over = False
            try:
                result = ask()
            except Told:
                raise
            except Exception as error:  # noqa: BLE001 - a failure is something that is seen
                failure = f"{type(error).__name__}: {error}"
    finally:
        _tape.reset(token)
        root.removeHandler(handler)
        tape.coins.over = False
    if tape.told:
        raise Told(tape.told[0])
    if tape.open and not failure:
        made = [tape.calls[place] for place in sorted(tape.open)]
        raise AssertionError(f"noise that the tape does not see added; enter it: {made}")
    if tape.playing and not failure and tape.place < len(tape.calls):
        raise Told(f"{len(tape.calls) - tape.place} calls of mechanisms were not made")
    said = [
        f"{w.category.__name__}: {w.message}" for w in warned if w.category is not ResourceWarning
    ]
    return Seen(
        result, failure, [*said, printed.getvalue(), log.getvalue(), noted()], _pickle(result)
    )


def record(ask: Any, noted: Any = str) -> tuple[Tape, Seen]:
    """Run on the first data set."""
    tape = Tape()
    return tape, run(ask, tape, noted)


def replay(ask: Any, tape: Tape, first: Seen, noted: Any = str, *, deep: bool = True) -> list[str]:
    """Run on a neighbour with the outputs of the first; list what differs, ``deep`` or quickly."""
    tape.playing = True
    try:
        again = run(ask, tape, noted)
    except Told as told:
        return [f"calls: {told}"]
    if (first.failure, first.beside) != (again.failure, again.beside):
        return [f"seen beside: {first.failure} {first.beside}, now {again.failure} {again.beside}"]
    found = list(islice(differences(first.result, again.result, deep=deep), 5))
    if first.pickled != again.pickled:
        found.append("the pickles differ")
    return [*found, *_overspent(again.result, tape)]


def _overspent(result: Any, tape: Tape) -> list[str]:
    """Say so where exact numbers moved more than noise and promise allow, for one record."""
    result = result[0] if isinstance(result, (tuple, list)) and result else result
    promise = getattr(result, "promise", None) or getattr(result, "guarantee", None)
    if isinstance(promise, ZCDP):
        over = tape.loss**2 + tape.square > 2 * promise.exact_rho
    elif isinstance(promise, ApproxDP):
        most = 1 / gaussian_sigma_up(promise.exact_epsilon, promise.exact_delta) ** 2
        over = tape.square > most * (1 + 1e-9) or tape.loss > promise.exact_epsilon
    elif isinstance(promise, PureDP):
        over = tape.square > 0 or tape.loss > promise.exact_epsilon
    else:
        return []
    words = f"loss {float(tape.loss):.4g} and square {float(tape.square):.4g} for {promise}"
    return [words] if over else []


# -- all of a result ------------------------------------------------------------------------------

Met = dict[tuple[int, int], Any]
_NOT_CALLED = {"close", "fit", "set_params", "start", "save", "report", "write", "simulate"}
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type, types.ModuleType,
          types.BuiltinFunctionType, range)  # fmt: skip


def differences(first: Any, second: Any, *, deep: bool = True) -> Any:
    """List where two results differ: attributes, what they show and say of themselves.

    What methods and properties give follows from attributes, all of which are compared, so it is
    looked at where ``deep`` says so only.
    """
    yield from _walk(first, second, "", {}, deep=deep)
    yield from _shown(first, second, "", 0 if deep else 2)


class _Pickler(pickle.Pickler):
    """Pickles tensors of torch by their numbers: its own pickles number the places in memory."""

    def reducer_override(self, value: Any) -> Any:
        if type(value).__module__.startswith("torch") and hasattr(value, "detach"):
            return bytes, (value.detach().numpy().tobytes(),)
        return NotImplemented


def _pickle(value: Any) -> bytes:
    """Pickle a value as it comes, before anything that is cached was looked at."""
    out = io.BytesIO()
    try:
        _Pickler(out).dump(value)
        return out.getvalue()
    except Exception as error:  # noqa: BLE001 - what cannot be pickled is pickled by none
        return str(error).encode()


def _shown(first: Any, second: Any, path: str, depth: int = 0) -> Any:
    """Compare what values show, and what their methods without arguments give."""
    for show in (repr, str):
        if show(first) != show(second):
            yield f"{path}: {show.__name__} {show(first)[:120]!r} and {show(second)[:120]!r}"
    if not type(first).__module__.startswith("sfumato") or depth > 1:
        return
    for name in sorted(set(dir(first)) - _NOT_CALLED):
        if name.startswith("_") and not name.startswith("_repr_"):
            continue
        static = inspect.getattr_static(type(first), name, None)
        if not isinstance(static, types.FunctionType) or not _without_arguments(static):
            continue
        one, two = (_outcome(getattr(value, name)) for value in (first, second))
        yield from _walk(one, two, f"{path}.{name}()", {}, deep=True)
        yield from _shown(one, two, f"{path}.{name}()", depth + 1)


def _without_arguments(function: Any) -> bool:
    wanted = list(inspect.signature(function).parameters.values())[1:]
    return all(p.default is not p.empty or p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in wanted)  # fmt: skip  # noqa: E501


def _outcome(call: Any) -> Any:
    coins = Coins(0)
    coins.begin(0)
    try:
        with _instead(coins):
            return call()
    except Exception as error:  # noqa: BLE001 - a failure is compared like a result
        return f"{type(error).__name__}: {error}"


def _walk(first: Any, second: Any, path: str, met: Met, *, deep: bool) -> Any:
    """Go through everything that can be reached from two values."""
    if first is second or (id(first), id(second)) in met:
        return
    met[id(first), id(second)] = (first, second)
    if type(first) is not type(second):
        yield f"{path}: {type(first).__name__} and {type(second).__name__}"
        return
    if isinstance(first, _PLAIN):
        if repr(first) != repr(second):
            yield f"{path}: {first!r:.120} and {second!r:.120}"
    elif isinstance(first, np.ndarray) and first.dtype != object:
        if (first.dtype, first.shape) != (second.dtype, second.shape):
            yield f"{path}: {first.dtype}{first.shape} and {second.dtype}{second.shape}"
        elif first.tobytes() != second.tobytes():
            yield f"{path}: other numbers"
    elif isinstance(first, (list, tuple, np.ndarray)):
        if len(first) != len(second):
            yield f"{path}: {len(first)} and {len(second)} of them"
            return
        for place, (one, two) in enumerate(zip(first, second, strict=True)):
            yield from _walk(one, two, f"{path}[{place}]", met, deep=deep)
        yield from _attributes(first, second, path, met, deep=deep)
    elif isinstance(first, (dict, types.MappingProxyType)):
        yield from _walk(list(first), list(second), f"{path}.keys", met, deep=deep)
        if list(map(repr, first)) == list(map(repr, second)):
            for key, one, two in zip(first, first.values(), second.values(), strict=True):
                yield from _walk(one, two, f"{path}[{key!r}]", met, deep=deep)
        yield from _attributes(first, second, path, met, deep=deep)
    elif isinstance(first, (set, frozenset)):
        if sorted(map(repr, first)) != sorted(map(repr, second)):
            yield f"{path}: other members"
    elif isinstance(first, types.FunctionType):
        cells = [[c.cell_contents for c in f.__closure__ or ()] for f in (first, second)]
        yield from _walk(cells[0], cells[1], f"{path}.closure", met, deep=deep)
        if first.__code__ is not second.__code__:
            yield f"{path}: another function"
    elif isinstance(first, types.MethodType):
        yield from _walk(first.__self__, second.__self__, f"{path}.self", met, deep=deep)
    elif type(first).__module__.startswith("sfumato"):
        yield from _attributes(first, second, path, met, deep=deep)
    elif not isinstance(first, _LOCKS):
        yield from _opaque(first, second, path)


def _opaque(first: Any, second: Any, path: str) -> Any:
    """Compare values of other libraries: by their words and pickles."""
    if repr(first) != repr(second):
        yield f"{path}: {first!r:.120} and {second!r:.120}"
    if _pickle(first) != _pickle(second):
        yield f"{path}: the pickles differ"


def vars_of(value: Any) -> dict[str, Any]:
    """Give all attributes of a value, private ones and those in slots included."""
    held = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with contextlib.suppress(AttributeError):
                held[name] = getattr(value, name)
    return held


def _is_cached(kind: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)


def _attributes(first: Any, second: Any, path: str, met: Met, *, deep: bool) -> Any:
    one, two = vars_of(first), vars_of(second)
    cached = {n for n in set(one) ^ set(two) if _is_cached(type(first), n)}  # looked at, or not yet
    one, two = ({n: v for n, v in held.items() if n not in cached} for held in (one, two))
    if set(one) != set(two):
        yield f"{path}: attributes {sorted(set(one) ^ set(two))}"
    for name in sorted(set(one) & set(two)):
        yield from _walk(one[name], two[name], f"{path}.{name}", met, deep=deep)
    if deep and type(first).__module__.startswith("sfumato"):
        for name in dir(type(first)):
            static = inspect.getattr_static(type(first), name, None)
            if isinstance(static, property | functools.cached_property) and name not in one:
                both = [
                    _outcome(lambda v=value, n=name: getattr(v, n)) for value in (first, second)
                ]
                yield from _walk(both[0], both[1], f"{path}.{name}", met, deep=deep)

"""DuckDB's columns as arrays, without a copy and without another library.

Contract: :func:`batches` runs a query and gives its columns piece by piece: whole numbers as an
array of 64 bits, texts as bytes with the places where each begins. They stand in the engine's own
memory and are read through the Arrow C stream interface, a stable layout in memory that DuckDB
speaks by itself (https://arrow.apache.org/docs/format/CStreamInterface.html). A piece must be
closed when its columns are no longer needed, and not be read afterwards.

An error of the engine becomes a sentence of ours: its own message may quote a cell.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import duckdb
import numpy as np

from sfumato.data.engines.errors import nothing_quoted
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private", ctypes.c_void_p),
]

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

_INTEGER, _TEXT = b"l", b"u"
_KEPT_BACK = "DuckDB could not compute the columns of the question; its own message is kept back."


class WholeColumn(NamedTuple):
    """A column of whole numbers; ``present`` is empty where every row has one."""

    values: NDArray[np.int64]
    present: NDArray[np.bool_]


class Text(NamedTuple):
    """A column of texts: row i is ``data[starts[i]:starts[i + 1]]``."""

    starts: NDArray[np.int32]
    data: NDArray[np.uint8]
    present: NDArray[np.bool_]


Cells: TypeAlias = "WholeColumn | Text"


@dataclass(eq=False)
class Batch:
    """A piece of a result; its columns live until :meth:`close`, in memory of the engine's."""

    rows: int
    columns: tuple[Cells, ...]
    _array: Any = None

    @property
    def size(self) -> int:
        """Give the bytes its columns take."""
        return sum(array.nbytes for column in self.columns for array in column)

    def close(self) -> None:
        """Give the memory back to the engine."""
        self.columns = ()
        if self._array is not None and self._array.release:
            self._array.release(ctypes.byref(self._array))


def _view(address: int | None, count: int, kind: type[np.generic]) -> NDArray[Any]:
    if not count or not address:
        return np.empty(0, kind)
    size = count * np.dtype(kind).itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    view: NDArray[Any] = np.frombuffer(memory, kind)
    return view


def _present(array: Any) -> NDArray[np.bool_]:
    end = array.offset + array.length
    bits = _view(array.buffers[0], (end + 7) // 8, np.uint8)
    if array.null_count == 0 or not len(bits):
        return np.empty(0, np.bool_)
    marks = np.unpackbits(bits, count=end, bitorder="little")[array.offset :].view(np.bool_)
    return np.empty(0, np.bool_) if marks.all() else marks


def _cells(array: Any, form: bytes) -> Cells:
    end = array.offset + array.length
    if form == _INTEGER:
        return WholeColumn(_view(array.buffers[1], end, np.int64)[array.offset :], _present(array))
    starts = _view(array.buffers[1], end + 1, np.int32)[array.offset :]
    size = int(starts[-1]) if len(starts) else 0
    return Text(starts, _view(array.buffers[2], size, np.uint8), _present(array))


def _forms(stream: Any, place: int) -> list[bytes]:
    schema = _Schema()
    if stream.get_schema(place, ctypes.byref(schema)):
        raise DataError(_KEPT_BACK)
    forms = [schema.children[i].contents.format for i in range(schema.n_children)]
    schema.release(ctypes.byref(schema))
    return forms


def batches(relation: Any) -> Iterator[Batch]:
    """Run a query of 64-bit integers and texts (a DuckDB relation) and give its pieces."""
    with nothing_quoted(lambda error: _KEPT_BACK if isinstance(error, duckdb.Error) else None):
        capsule = relation.__arrow_c_stream__()
    place = _pointer_of(capsule, b"arrow_array_stream")
    assert place is not None
    stream = _Stream.from_address(place)
    forms = _forms(stream, place)
    if not set(forms) <= {_INTEGER, _TEXT}:
        raise DataError("The engine gave a column that is neither a whole number nor a text.")
    while True:
        array = _Array()
        if stream.get_next(place, ctypes.byref(array)):
            raise DataError(_KEPT_BACK)
        if not array.release:
            break
        cells = tuple(_cells(array.children[i].contents, form) for i, form in enumerate(forms))
        yield Batch(array.length, cells, array)
    del capsule  # it owns the stream, so it must live until here

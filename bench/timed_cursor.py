"""The CPU time that DuckDB takes of a question, apart from our own."""

from __future__ import annotations

import time


class TimedCursor:
    """A cursor or relation of DuckDB that adds the CPU time of its calls to ``spent[0]``."""

    def __init__(self, inner, spent):
        self._inner, self._spent = inner, spent

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        return self._timed(found) if callable(found) else found

    def __arrow_c_stream__(self, requested_schema=None):
        return self._timed(self._inner.__arrow_c_stream__)(requested_schema)

    def _timed(self, function):
        def called(*args, **kwargs):
            start = time.thread_time()
            result = function(*args, **kwargs)
            self._spent[0] += time.thread_time() - start
            if result is self._inner:
                return self
            return TimedCursor(result, self._spent) if hasattr(result, "project") else result

        return called

"""What a prepared question asks of an engine."""

from __future__ import annotations

from sfumato.ask.answers.measurement import measure


class Recorder:
    """An engine that notes what it is asked."""

    def __init__(self, engine):
        self.engine, self.asked = engine, []
        self.dialect = engine.dialect

    def aggregate(self, request):
        self.asked.append(request)
        return self.engine.aggregate(request)


def requests(prepared, engine, salt):
    """Answer once, and give the question as it was answered with all requests it took."""
    recorder = Recorder(engine)
    found = measure(prepared, recorder, salt)
    return found.prepared, recorder.asked

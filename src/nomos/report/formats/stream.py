"""Events as JSON lines, for programs that follow a run."""

import json
from dataclasses import asdict, replace
from typing import IO, Any

from nomos.results.result import to_data
from nomos.runner.events import BugFound, Crashed, Event, Finished, Progress, Started


class EventStream:
    """Writes each event as one line, at once."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def handle(self, event: Event) -> None:
        """Write an event."""
        kind, data = _event_data(event)
        line: dict[str, Any] = {"event": kind}
        line |= {n: getattr(event.subject, n) for n in ("spec", "property", "model")}
        self.file.write(json.dumps({**data, **line, "seed": event.seed}) + "\n")
        self.file.flush()


def _event_data(event: Event) -> tuple[str, dict[str, Any]]:
    """Return what an event is called, and what it says; a result without its bugs."""
    match event:
        case Started(budget=budget, search=search, mode=mode, space=space):
            how = {"budget": budget, "search": search, "mode": mode}
            return "started", {**how, "space": space}
        case BugFound(bug=bug):
            return "bug", asdict(bug)
        case Crashed(crash=crash):
            return "crash", asdict(crash)
        case Progress(counts=counts, next_case=next_case):
            return "progress", {**asdict(counts), "next_case": next_case}
        case Finished(result=result):
            data = to_data(replace(result, bugs=()))
            del data["bugs"], data["text"]
            return "finished", data
        case _:
            raise TypeError(f"no event: {event!r}")

"""Events as JSON lines, for programs that follow a run."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import IO, Any

from nomos.campaign.events import BugFound, Event, Progress
from nomos.campaign.result import Result, bug_data

_KINDS = {
    "Started": "started",
    "BugFound": "bug",
    "Crashed": "crash",
    "Progress": "progress",
    "Finished": "finished",
}


class EventStream:
    """Writes each event as one line, at once."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def hear(self, result: Result, event: Event) -> None:
        """Write an event."""
        subject = result.subject
        line: dict[str, Any] = {
            "event": _KINDS[type(event).__name__],
            "property": subject.spec.name,
            "model": subject.model,
            "seed": result.seed,
        }
        match event:
            case BugFound(bug=bug):
                line |= bug_data(bug, subject)
            case Progress(counts=counts, next_case=next_case):
                line |= asdict(counts) | {"next_case": next_case}
            case _:
                for field in fields(event):
                    value = getattr(event, field.name)
                    line[field.name] = (
                        asdict(value) if hasattr(value, "__slots__") else value
                    )
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

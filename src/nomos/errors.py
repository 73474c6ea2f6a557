"""The few exceptions that cross the API.

NomosError            what every caller may catch
├── SpecError         a spec is wrong: carries the diagnostics
├── DomainError       a domain file cannot be found, loaded or built
├── NotRun            what looks like a spec is not run
├── ModelError        a model file or a model's answer is not what it must be
│   └── ServiceDown   a service answers nobody: the campaign can go on later
├── StoreError        the store of campaigns and bugs cannot be read or written
└── NotProvable       no proof covers what a spec asks, or the model

Discard is no error: a domain function raises it to say that a case has no meaning.
Unreadable is none of the model's either: its answer is there, and says nothing that counts.
Stop is none either: it ends a campaign from outside, whatever the model is doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from nomos.diagnostics.diagnostic import Diagnostic
    from nomos.diagnostics.source import Source, Span


class NomosError(Exception):
    """Anything that Nomos reports to its caller instead of a traceback."""


class SpecError(NomosError):
    """A spec with mistakes in it."""

    def __init__(
        self, source: Source, diagnostics: Sequence[Diagnostic], pictures: str
    ) -> None:
        self.source = source
        self.diagnostics = tuple(diagnostics)
        super().__init__(f"{source.name} is wrong\n{pictures}")


class DomainError(NomosError):
    """A domain that cannot be found, imported or constructed."""


class ModelError(NomosError):
    """A model that cannot be loaded, or whose answer breaks its contract."""


class ServiceDown(ModelError):
    """A service that answers no request: what it answered before is kept."""


class NotRun(NomosError):
    """Something looks like a spec, and no campaign runs it."""


class StoreError(NomosError):
    """A store that cannot be read or written."""


class NotProvable(NomosError):
    """Something that no proof covers, with the place where the spec says it."""

    def __init__(self, reason: str, at: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at

    def picture(self, source: Source) -> str:
        """Return the reason with the line of the spec that it is about."""
        if self.at is None:
            return self.reason
        line, column = source.locate(self.at.start)
        text = source.line(line)
        carets = "^" * max(1, min(self.at.end - self.at.start, len(text) - column + 1))
        return (
            f"{self.reason}\n --> {source.name}:{line}:{column}\n"
            f"  | {text}\n  | {' ' * (column - 1)}{carets}"
        )


def exit_status(error: Exception) -> int:
    """Return 2 for wrong usage or a bad spec, 3 where the outside world failed."""
    world = DomainError | ModelError | NotRun | StoreError | OSError
    return 3 if isinstance(error, world) else 2


class Discard(Exception):
    """Raised by a domain function for which the case has no meaning."""


class Unreadable(Exception):
    """An answer from which nothing can be read: its case is counted as unreadable.

    A function raises it, or a function of many cases gives it in the place of an answer.
    No comparison takes it for a value: whoever compares it raises it.

    Args:
        why: What the answer lacks, in the same words for all answers that lack it.
        answer: The answer itself.
    """

    def __init__(self, why: str, answer: str = "") -> None:
        super().__init__(why, answer)
        self.why, self.answer = why, answer

    def __str__(self) -> str:
        return self.why

    def _refuse(self, *_: object) -> NoReturn:
        raise self

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = __float__ = __index__ = _refuse


class CallsFailed(Exception):
    """Some of many calls failed: `errors` by their places; `answers` of the others.

    The answers are None where whoever asked made something else of them.
    """

    def __init__(
        self, errors: dict[int, BaseException], count: int, answers: list[object] | None
    ) -> None:
        first = next(iter(errors.values()))
        super().__init__(f"{len(errors)} of {count} calls failed, the first: {first}")
        self.errors, self.count, self.answers = errors, count, answers


class Stop(BaseException):
    """Raised into a campaign that must end now: by Ctrl-C, a signal or the clock."""

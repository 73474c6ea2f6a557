"""What it would cost to try every case, where a campaign draws them at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nomos.runner.events import Event


class Spaces:
    """Listens to campaigns, and says of those that try not all cases how many there are."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._lines: dict[str, None] = {}  # each once, in order

    def handle(self, event: Event) -> None:
        """Note the size of a space."""
        from nomos.runner.events import Started

        if isinstance(event, Started) and event.about_space is not None:
            cases, k = event.about_space, event.subject.k
            calls = f", about {_rounded(cases * k)} calls of the model" if k else ""
            self._lines[
                f"{event.subject.property}: about {_rounded(cases)} cases in all;"
                f" --search exhaustive tries each of them{calls}"
            ] = None

    def tell(self) -> None:
        """Print what was noted."""
        for line in self._lines if not self.quiet else ():
            click.echo(line)


def _rounded(number: int) -> str:
    """Write a number with two digits that count."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"

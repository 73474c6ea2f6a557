"""A console of rich that shows text as text, whatever is in it."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from nomos.terminal import printable


class Screen(Console):
    """Writes out what a terminal would act on; what rich itself adds stays."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Yield the parts of what is shown."""
        for part in super().render(renderable, options):
            shown = part.text if part.control else printable(part.text)
            yield Segment(shown, part.style, part.control)

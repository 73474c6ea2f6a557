"""Campaigns on the screen: bars where a person looks, lines where a pipe does.

Whatever a text holds, `Screen` shows it as text.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.segment import Segment
from rich.table import Table

from nomos.report import summary
from nomos.report.view import next_bug_words
from nomos.results.result import Counts, Result, Subject, count_words
from nomos.runner import events
from nomos.runner.project.naming import short_names
from nomos.terminal import printable

_LINES_KEPT_FREE = 6  # of the terminal's height, around the bars
_REFRESH_S = 0.1
_PIPE_WIDTH = 120  # of tables where no terminal says how wide it is
_NARROW = 80  # columns, in which a bar leaves no room for the rest


def make_console() -> Console:
    """Return a console; a pipe has a width of its own."""
    console = Screen()
    return console if console.is_terminal else Screen(width=_PIPE_WIDTH)


class RunConsole:
    """Shows campaigns while they run, and what they came to."""

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        self.console = console or make_console()
        self.quiet = quiet
        self.live = not quiet and self.console.is_terminal
        wide = self.console.width >= _NARROW
        columns = [
            TextColumn("{task.description}", markup=False),
            *([BarColumn(bar_width=24)] if wide else []),
            TextColumn("{task.completed:>7.0f}/{task.total:.0f}"),
            *([TextColumn("{task.fields[speed]:>9} cases/s")] if wide else []),
            TextColumn("[red]{task.fields[bugs]:>6} bugs"),
        ]
        self._progress = Progress(
            *columns, console=self.console, transient=True, disable=not self.live
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._searches: dict[tuple[str, str], str] = {}
        self._shown = 0.0
        self.spaces: dict[str, None] = {}  # what all cases would cost, each once

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def handle(self, event: events.Event) -> None:
        """Show an event."""
        if self.quiet:
            return
        if isinstance(event, events.Started) and event.about_space is not None:
            self.spaces[_space_text(event.subject, event.about_space)] = None
        match event:
            case events.Finished(result=result) if not self.live:
                self.console.print(_result_line(result), soft_wrap=True)
            case _ if not self.live:
                return
            case events.Started(budget=budget, space=space):
                self._begin_bar(event, budget if space is None else space)
            case events.Progress(counts=counts):
                now = time.perf_counter()
                if now - self._shown > _REFRESH_S:
                    self._shown = now
                    self._update_bar(event, counts)
            case events.Finished(result=result):
                self._update_bar(event, result.counts)
            case _:
                return

    def _begin_bar(self, event: events.Started, total: int) -> None:
        key = event.subject.spec, event.subject.model
        (model,) = short_names([event.subject.model])
        name = f"{event.subject.property} {model} seed {event.seed}"
        self._searches[key] = event.search
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(
                name, total=total, bugs=0, speed="-"
            )
        self._progress.update(self._tasks[key], description=name, total=total)
        room = max(4, self.console.height - _LINES_KEPT_FREE)
        for old in list(self._tasks.values())[:-room]:
            self._progress.update(old, visible=False)

    def _update_bar(self, event: events.Event, counts: Counts) -> None:
        key = event.subject.spec, event.subject.model
        if key not in self._tasks:
            return
        is_sample = self._searches[key] == "random"
        done = counts.tests + (0 if is_sample else counts.discarded + counts.unchanged)
        self._progress.update(
            self._tasks[key],
            completed=done,
            speed=_format_speed(counts),
            bugs=counts.unique_bugs,
        )

    def print_warning(self, message: str) -> None:
        """Show something that went wrong beside the campaigns."""
        Screen(stderr=True).print(f"warning: {message}")

    def print_summary(self, results: Sequence[Result], stored: bool = True) -> None:
        """Show what the campaigns came to, and what to type next where it is stored."""
        if self.quiet or not results:
            return
        out = self.console
        # A pipe has no width to keep to; on a terminal, lines end between words.
        soft = not out.is_terminal
        for part in summary.summary_parts(results, out.width, stored=stored):
            out.print(part, soft_wrap=soft and not isinstance(part, Table))
        colour = out.is_terminal and not out.no_color
        example = summary.example_text(
            results, colour=colour, width=out.width, stored=stored
        )
        if example is not None:
            out.print(example, soft_wrap=soft)
        if len(results) == 1 and (chance := next_bug_words(results[0])):
            out.print(chance, soft_wrap=soft)
        for step in summary.next_steps(results) if stored else []:
            out.print(step)


def _result_line(result: Result) -> str:
    """Return the one line that a pipe gets for a campaign."""
    subject = result.subject
    problem = f" problem={result.problem!r}" if result.problem else ""
    return (
        f"{result.verdict:<10} {subject.property} model={subject.model or '-'}"
        f" seed={result.seed} {count_words(result.counts)} mode={result.mode}"
        f" search={result.search} cases/s={_format_speed(result.counts)}{problem}"
    )


def _format_speed(counts: Counts) -> str:
    return f"{counts.tests / counts.seconds:,.0f}" if counts.seconds else "-"


def _space_text(subject: Subject, cases: int) -> str:
    """Say what it would cost to try every case, where they are drawn at random."""
    k = subject.k
    calls = f", about {_two_digits(cases * k)} calls of the model" if k else ""
    return (
        f"{subject.property}: about {_two_digits(cases)} cases in all;"
        f" --search exhaustive tries each of them{calls}"
    )


def _two_digits(number: int) -> str:
    """Write a number with two digits that count."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"


class Screen(Console):
    """Writes out what a terminal would act on; what rich itself adds stays."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Yield the parts of what is shown."""
        for part in super().render(renderable, options):
            shown = part.text if part.control else printable(part.text)
            yield Segment(shown, part.style, part.control)

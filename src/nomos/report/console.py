"""Campaigns on the screen: bars where a person looks, lines where a pipe does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import PurePath
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from nomos.campaign import events
from nomos.campaign.result import Result, count_words
from nomos.report import summary

_LINES_KEPT_FREE = 6  # of the terminal's height, around the bars
_REFRESH_S = 0.1


_PIPE_WIDTH = 120  # of tables where no terminal says how wide it is


def _console() -> Console:
    console = Console(highlight=False)
    return (
        console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)
    )


class RunConsole:
    """Shows campaigns while they run, and what they came to."""

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        self.console = console or _console()
        self.quiet = quiet
        self.live = not quiet and self.console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:>7.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[speed]:>9} cases/s"),
            TextColumn("[red]{task.fields[bugs]:>6} bugs"),
            console=self.console,
            transient=True,
            disable=not self.live,
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._shown = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def hear(self, result: Result, event: events.Event) -> None:
        """Show an event."""
        if self.quiet:
            return
        if not self.live:
            if isinstance(event, events.Finished):
                self.console.print(self._line(result), soft_wrap=True)
            return
        now = time.perf_counter()
        is_end = isinstance(event, events.Started | events.Finished)
        if is_end or (
            isinstance(event, events.Progress) and now - self._shown > _REFRESH_S
        ):
            self._shown = now
            self._update(result, event)

    def _update(self, result: Result, event: events.Event) -> None:
        key = result.subject.path, result.subject.model
        model = PurePath(result.subject.model).stem
        name = f"{result.subject.spec.name} {model} seed {result.seed}"
        total = result.budget
        if isinstance(event, events.Started) and event.space is not None:
            total = event.space
        counts = result.counts
        done = counts.tests + (counts.discarded if result.search == "exhaustive" else 0)
        speed = f"{counts.tests / counts.seconds:,.0f}" if counts.seconds else "-"
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(
                name, total=total, bugs=0, speed="-"
            )
        task = self._tasks[key]
        self._progress.update(task, description=name, completed=done, speed=speed)
        self._progress.update(task, bugs=counts.unique_bugs)
        if isinstance(event, events.Started):
            self._progress.update(task, total=total)
        room = max(4, self.console.height - _LINES_KEPT_FREE)
        for old in list(self._tasks.values())[:-room]:
            self._progress.update(old, visible=False)

    def _line(self, result: Result) -> str:
        """Return the one line that a pipe gets for a campaign."""
        counts, subject = result.counts, result.subject
        speed = f"{counts.tests / counts.seconds:,.0f}" if counts.seconds else "-"
        return (
            f"{result.verdict:<10} {subject.spec.name} model={subject.model or '-'}"
            f" seed={result.seed} {count_words(counts)}"
            f" way={result.way} search={result.search} cases/s={speed}"
        )

    def warn(self, message: str) -> None:
        """Show something that went wrong beside the campaigns."""
        Console(stderr=True, highlight=False).print(f"warning: {message}", markup=False)

    def finish(self, results: Sequence[Result], *, stored: bool = True) -> None:
        """Show what the campaigns came to, and what to type next where it is stored."""
        if self.quiet or not results:
            return
        out = self.console
        out.print(summary.summary_table(results))
        for remark in summary.remarks(results):
            out.print(remark, markup=False, soft_wrap=True)
        colour = out.is_terminal and not out.no_color
        example = summary.example(results, colour=colour)
        if example is not None:
            out.print(example, soft_wrap=True)
        if len(results) == 1 and (chance := summary.chances(results[0])) is not None:
            out.print(chance, markup=False, soft_wrap=True)
        for step in summary.next_steps(results) if stored else []:
            out.print(step, markup=False)

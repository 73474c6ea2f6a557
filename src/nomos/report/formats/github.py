"""What GitHub shows of a step: a table in its summary, and notes beside the spec's lines.

Texts of specs, models and data are data: a line of theirs is never a command of the
runner, and a cell of theirs never another cell.
"""

from collections.abc import Iterator, Sequence

from nomos.report.formats.sarif import find_ensures
from nomos.report.texts import clip_text
from nomos.report.view import Failure, view_property
from nomos.results.gate import Ruling
from nomos.terminal import printable

_LONGEST_TEXT = 500  # characters of a cell or of a note
_SHOWN = {0: "✅ passes", 1: "❌ does not pass"}
_UNDECIDED = "⚠️ not decided"
_LEVELS = {0: "notice", 1: "error"}


def step_summary(rulings: Sequence[Ruling], failures: Sequence[Failure] = ()) -> str:
    """Return a table in Markdown: a row for each property and model."""
    lines = ["### Nomos", ""]
    lines += [
        "| property | model | verdict | violations | gate |",
        "|---|---|---|---|---|",
    ]
    for ruling in rulings:
        one = view_property(ruling.results)
        gate = _SHOWN.get(ruling.status, _UNDECIDED)
        said = f"{gate}: {ruling.said}" if ruling.said else gate
        model = one.first.subject.model or "-"
        verdict = one.verdict.replace("-", " ")
        lines.append(_table_row(one.name, model, verdict, one.found_words, said))
    lines += [
        _table_row(path, "-", "not run", why, _UNDECIDED) for path, why in failures
    ]
    return "\n".join(lines) + "\n"


def annotate_lines(
    rulings: Sequence[Ruling], failures: Sequence[Failure] = ()
) -> Iterator[str]:
    """Yield a command of the runner for each property that is violated or not decided."""
    for ruling in rulings:
        result, one = ruling.worst, view_property(ruling.results)
        said = "; ".join(r.text for r in one.remarks if r.is_problem)
        line, level = 1, _LEVELS.get(ruling.status, "warning")
        for bug in result.cases_shown[:1]:
            line = find_ensures(result.subject, bug).line
            said = f"`{bug.failed}` does not hold; nomos replay {bug.id}"
        if said or ruling.status:
            words = "; ".join(filter(None, (one.found_words, ruling.said, said)))
            yield _command(level, result.subject.spec, line, result.name, words)
    for path, why in failures:
        yield _command("warning", path, 1, "not run", why)


def _table_row(*cells: str) -> str:
    texts = (" ".join(printable(clip_text(c, _LONGEST_TEXT)).split()) for c in cells)
    escaped = (
        t.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for t in texts
    )
    return f"| {' | '.join(escaped)} |"


def _command(level: str, path: str, line: int, title: str, words: str) -> str:
    place = f"file={_escape(path)},line={max(1, line)},title={_escape(title)}"
    text = printable(clip_text(words, _LONGEST_TEXT))
    return f"::{level} {place}::{_escape(text, '')}"


def _escape(text: str, more: str = ":,") -> str:
    """Return a text in which no character means anything to the runner."""
    for char in f"%\r\n{more}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text

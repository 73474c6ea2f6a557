"""A result that shows itself: as a few lines in a program, as a table in a notebook."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from nomos.errors import NomosError
from nomos.report.bug import card_text
from nomos.report.cards import first_card
from nomos.report.summary import by_clearness, remark_lines
from nomos.report.texts import count_of
from nomos.report.view import view_property
from nomos.results.result import Bug, Result, to_data

_MOST_SHOWN = 3


class ShownResult(Result):
    """The outcome of one campaign; print it, or let a notebook show it."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the verdict, how often, what else must be said, and the clearest bug."""
        view = view_property([self])
        verdict = view.verdict.replace("-", " ")
        lines = [f"{self.name}: {verdict}; {view.rate}"]
        lines += remark_lines(view, problems_only=True)
        for bug in self.clearest()[:1]:
            shown = card_text(first_card(self, bug)).plain
            mark = "" if bug.shrunk is None else " (shrunk)"
            lines += [f"`{bug.failed}` does not hold{mark}:", shown.rstrip()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the verdict and the clearest bugs, for a notebook."""
        from nomos.report.html.drawings import draw_all
        from nomos.report.html.templating import template_environment

        bugs = _clearest_bugs(self)
        cards = [(bug, first_card(self, bug)) for bug in bugs]
        drawn = [(bug, card, draw_all(card.drawn)) for bug, card in cards]
        left = self.counts.unique_bugs - len(bugs)
        others = count_of(left, "other bug") if bugs and left else ""
        template = template_environment().get_template("notebook.html")
        return template.render(view=view_property([self]), cards=drawn, left=others)

    def clearest(self) -> list[Bug]:
        """Return the bugs with the fewest changes first; printing shows the first one."""
        return by_clearness(self)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each bug and its values in columns."""
        import pandas as pd

        own = ("id", "case", "failed", "seen", "confirmed", "margin")
        return pd.DataFrame(
            {name: getattr(bug, name) for name in own}
            | dict(_flat_values({**bug.inputs, **bug.outputs}))
            for bug in self.bugs
        )

    def save(self, path: str | Path) -> Path:
        """Write a page (`.html`) or the data (`.json`), by the file's ending."""
        from nomos.report.html.page import html_page

        path = Path(path)
        match path.suffix.lower():
            case ".html" | ".htm":
                text = html_page([self])
            case ".json":
                text = json.dumps(to_data(self), indent=1) + "\n"
            case ending:
                raise NomosError(
                    f"cannot write a result as `{ending or path.name}`\n"
                    "help: give a file that ends with .html or .json"
                )
        path.write_text(text, encoding="utf-8")
        return path

    def replay(self, bug: Bug) -> Mapping[str, Any] | None:
        """Re-run a bug in isolation; return its values, None where it is gone."""
        if self.live is None:
            raise NomosError(
                "the model of this result is not there any more\n"
                "help: run the property again"
            )
        return self.live.values(bug)


def showable_result(result: Result) -> ShownResult:
    """Return a result as one that shows itself."""
    return ShownResult(**{f.name: getattr(result, f.name) for f in fields(Result)})


def _clearest_bugs(result: Result) -> list[Bug]:
    """Return the clearest bugs, one of each input first: a patient twice tells less."""
    firsts: dict[tuple[int, ...], Bug] = {}
    others = []
    for bug in by_clearness(result):
        if firsts.setdefault(bug.choices[:1], bug) is not bug:
            others.append(bug)
    return [*firsts.values(), *others][:_MOST_SHOWN]


def _flat_values(
    values: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat_values(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

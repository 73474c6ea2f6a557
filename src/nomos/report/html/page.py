"""Results as one HTML page: no network, no library, everything in the file.

All of it is HTML that can be read without a script; the page's script searches, sorts
and shows what there was no place for. The page's policy lets only its own script and
style run, by their checksums.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from nomos import __version__
from nomos.report.html.cards import MOST_DRAWN, WHOLE, Cards, write_cards
from nomos.report.html.drawings import HEIGHT, LEFT, RIGHT, WIDTH, Plot, plot_curve
from nomos.report.html.signoff import SignOff, build_sign_off
from nomos.report.html.templating import (
    content_policy,
    template_environment,
    template_text,
)
from nomos.report.summary import clearest_bug
from nomos.report.texts import count_of, lines_in_colour
from nomos.report.view import (
    Failure,
    FoundBug,
    PropertyView,
    bugs_by_line,
    model_names,
    view_properties,
)
from nomos.results.gate import Ruling
from nomos.results.result import Result

_LONGEST_SPEC = 100_000  # characters


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the overview: its head, its classes, and a cell for each property.

    It is sorted by the numbers, or by the cells where there are none.
    """

    head: str
    kind: str
    cells: Sequence[str]
    numbers: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """What a page tells of one property and one model."""

    key: str  # the name of its place on the page
    view: PropertyView
    facts: Sequence[tuple[str, str]]
    plot: Plot | None
    cards: Cards
    total: str  # of its bugs
    notes: Sequence[str]

    @property
    def spec(self) -> list[tuple[list[tuple[str, str]], str]]:
        """The lines of the spec, and how many bugs break each."""
        text = self.view.first.subject.text.rstrip()[:_LONGEST_SPEC]
        notes = bugs_by_line(self.view)
        lines = lines_in_colour(text) if text else []
        return [(line, notes.get(number, "")) for number, line in enumerate(lines, 1)]

    @property
    def rest(self) -> Markup:
        """The cards that the script shows, as one text."""
        return Markup("<hr>").join(self.cards.rest)


def html_page(
    results: Sequence[Result],
    failures: Sequence[Failure] = (),
    rulings: Sequence[Ruling] = (),
) -> str:
    """Return the page; with rulings, a section to sign stands first."""
    views = view_properties(results)
    cards = write_cards([_clearest_first(one) for one in views])
    sections = []
    for key, one, some in zip(link_names(views), views, cards, strict=True):
        about = _property_facts(one), plot_curve(one.results)
        sections.append(Section(key, one, *about, some, *_bug_words(one, some)))
    return render_page(
        sections,
        _property_columns(views),
        brand="Nomos report",
        headline=_page_headline(views, len(failures)),
        totals=_page_totals(views),
        failures=failures,
        sign_off=build_sign_off(views, rulings) if rulings else None,
    )


def render_page(
    sections: Sequence[Section],
    columns: Sequence[Column],
    *,
    failures: Sequence[Failure] = (),
    sign_off: SignOff | None = None,
    **words: str,
) -> str:
    """Return a page with these sections."""
    script = Markup(template_text("script.js"))  # ours, as the style is
    style = Markup(template_text("style.css"))
    plot = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT}
    facts: Mapping[str, Any] = {
        **words,
        "plot": plot,
        "failures": failures,
        "sign_off": sign_off,
    }
    found = {status for section in sections for status in section.cards.statuses}
    template = template_environment().get_template("page.html")
    return template.render(
        sections=sections,
        columns=columns,
        statuses=[s for s in ("new", "known", "kept", "fixed") if s in found],
        script=script,
        style=style,
        policy=content_policy(script, style),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
        **facts,
    )


def link_names(views: Sequence[PropertyView]) -> list[str]:
    """Return names for links, which no two properties share."""
    taken: Counter[str] = Counter()
    found = []
    for one in views:
        name = "property-" + re.sub(r"[^a-z0-9]+", "-", one.name.lower())
        taken[name] += 1
        found.append(name if taken[name] == 1 else f"{name}-{taken[name]}")
    return found


def _clearest_first(one: PropertyView) -> list[FoundBug]:
    found, best = one.all_bugs(), clearest_bug(one.results)
    if best is None:
        return found
    return sorted(found, key=lambda each: each.bug.id != best[1].id)


def _bug_words(one: PropertyView, cards: Cards) -> tuple[str, list[str]]:
    """Return how many bugs there are, and what must be said of those not shown."""
    kept = len(cards.in_page) + len(cards.rest)
    total = kept + cards.left_out
    is_cut = any(len(r.bugs) < r.counts.unique_bugs for r in one.results)
    if len(one.results) == 1:
        total, words = one.first.bugs_in_all, ""
    else:
        words = f" in {len(one.results)} seeds together"
        words += ", or more" if is_cut else ""
    notes = []
    if total > kept:
        notes.append(
            f"{count_of(total - kept, 'more bug')} not on this page:"
            f" `nomos bugs {one.name}` lists them."
        )
    if kept > WHOLE:
        said = "Fields that are the same are left out after the first"
        notes.append(f"{said} {WHOLE:,} bugs.")
    if cards.problem:
        notes.append(
            "Some records are not shown as the domain would, because it raised"
            f" {cards.problem}."
        )
    if cards.drawn >= MOST_DRAWN < kept:
        notes.append(
            f"Pictures are drawn for the first {MOST_DRAWN} bugs at most; nomos show ID"
            " -o FOLDER draws any."
        )
    return f"{total:,}{words}", notes


def _property_facts(one: PropertyView) -> list[tuple[str, str]]:
    first = one.first
    facts = [
        ("found", one.found_words),
        ("kind", f"{one.k}-safety"),
        ("cases", one.cases),
        ("search", f"{first.search}, seed {one.seeds}"),
        ("model", first.subject.model or "-"),
    ]
    if one.speed != "-":
        facts.insert(4, ("speed", f"{one.speed} cases/s, {first.mode}"))
    return facts + [(f"--set {n}", v) for n, v in first.subject.settings.items()]


def _property_columns(views: Sequence[PropertyView]) -> list[Column]:
    """Return the columns of all properties; what is the same for all has none."""
    shares = [one.share for one in views]
    columns = [
        Column("model", "model-cell", model_names(views)),
        Column("verdict", "verdict-cell", [one.verdict for one in views]),
        Column("k", "number extra", [one.k for one in views]),
        Column("unique bugs", "number bugs-cell", [one.unique_bugs for one in views]),
        Column("new", "number extra", [one.new_bugs for one in views]),
        Column("violations", "rate-cell", [one.rate for one in views], shares),
        Column("cases/s", "number extra", [one.speed for one in views]),
        Column("search", "extra", [one.first.search for one in views]),
        Column("seed", "number extra", [one.seeds for one in views]),
    ]
    dull = {"model", "search", "seed", "new"}
    columns = [c for c in columns if c.head not in dull or len(set(c.cells)) > 1]
    return [c for c in columns if set(c.cells) != {"-"}]


def _page_headline(views: Sequence[PropertyView], failures: int) -> str:
    violated = sum(one.verdict == "violated" for one in views)
    failed = sum(one.verdict in ("failed", "undecided") for one in views)
    properties = len({one.first.subject.spec for one in views})
    models = len({one.first.subject.model for one in views})
    named = count_of(properties, "property", "properties")
    if properties == len(views):
        said = f"{violated} of {named} {'is' if violated == 1 else 'are'} violated"
    else:
        on = count_of(models, "model")
        said = f"{violated} of {len(views)} violated: {named} on {on}"
    said += f", {failed} without a verdict" if failed else ""
    return said + (f", {failures} could not be run" if failures else "")


def _page_totals(views: Sequence[PropertyView]) -> str:
    counts = [result.counts for one in views for result in one.results]
    if all(len(one.results) == 1 for one in views):
        bugs = count_of(int(sum(one.bugs for one in views)), "unique bug")
    else:
        bugs = f"{sum(one.bugs for one in views):,.1f} unique bugs a seed"
    tests, seconds = sum(c.tests for c in counts), sum(c.seconds for c in counts)
    said = [
        bugs + (f" in {count_of(tests, 'case')}, {seconds:,.1f} s" if tests else "")
    ]
    searches, seeds = {one.first.search for one in views}, {one.seeds for one in views}
    if len(searches) == 1:
        said.append(f"{searches.pop()} search")
    if len(seeds) == 1:
        said.append(f"seed {seeds.pop()}")
    return ", ".join(said)

"""The cards of a property's bugs, within a page's room.

The first are elements of the page, which need no script. The others are the same HTML,
kept as text, of which the page's script shows as many as are asked for: a browser reads
ten thousand of them at once because it makes nothing of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from nomos.report.cards import Card, Cell, card_as_recorded, card_of, smaller_card
from nomos.report.groups import shrunk_words
from nomos.report.html.drawings import draw_all
from nomos.report.html.templating import template_environment
from nomos.report.texts import shorten_text
from nomos.report.view import FoundBug
from nomos.results.describe import describe
from nomos.results.result import Bug

# Of each property: more than anybody looks at one by one, and few enough that games
# are played again, and their paths sent, for a page of many properties.
MOST_DRAWN = 48
_IN_PAGE = 200  # cards of a property that are elements of the page
WHOLE = 1000  # cards of a property that have the fields that are the same
_IN_ALL = 1200  # such cards of all properties
_LARGEST_DRAWING = 600_000  # bytes of one card
_PAGE_BYTES = 12_000_000
Both = Callable[[FoundBug], Mapping[str, Mapping[str, Any]]]


@dataclass(slots=True)
class Cards:
    """What is written of the bugs of one property."""

    in_page: list[Markup] = field(default_factory=list)
    rest: list[Markup] = field(default_factory=list)
    left_out: int = 0  # for which there was no room
    drawn: int = 0
    statuses: set[str] = field(default_factory=set)
    problem: str = ""  # why the domain could not show a record


def write_cards(
    bugs: Sequence[Sequence[FoundBug]], both: Both | None = None
) -> list[Cards]:
    """Write the bugs of all properties; `both` says what two models make of one.

    Those with few bugs come first: what they do not need, the others may have.
    """
    room, written = _PAGE_BYTES, {}
    owners = max(1, sum(bool(found) for found in bugs))
    in_page = max(8, min(_IN_PAGE, _IN_ALL // owners))
    in_turn = sorted(range(len(bugs)), key=lambda number: len(bugs[number]))
    for turn, number in enumerate(in_turn):
        cards = _write_cards_of(bugs[number], room // (len(bugs) - turn), in_page, both)
        room -= sum(map(len, cards.in_page + cards.rest))
        written[number] = cards
    return [written[number] for number in range(len(bugs))]


def _write_cards_of(
    bugs: Sequence[FoundBug], room: int, in_page: int, both: Both | None
) -> Cards:
    cards = Cards()
    size = drawings_size = 0
    for number, found in enumerate(bugs):
        draw = number < MOST_DRAWN and drawings_size < room // 2
        text = _card_markup(found, cards, number, draw=draw, both=both)
        if len(text) > _LARGEST_DRAWING and draw:
            text = _card_markup(found, cards, number, draw=False, both=both)
        drawings_size += len(text) if draw else 0
        size += len(text)
        if size > room:
            cards.left_out = len(bugs) - number
            break
        (cards.in_page if number < in_page else cards.rest).append(text)
    return cards


def _card_markup(
    found: FoundBug, cards: Cards, number: int, *, draw: bool, both: Both | None
) -> Markup:
    card = card_of(found.result, found.bug, draw=draw)
    try:
        pictures = draw_all(card.drawn)
    except Exception as error:  # what a domain gave is no such picture
        card = replace(
            card_of(found.result, found.bug), problem=f"{type(error).__name__}: {error}"
        )
        pictures = draw_all({})
    cards.problem = cards.problem or card.problem
    cards.drawn += bool(card.drawn)
    cards.statuses.add(found.status)
    by: list[tuple[str, tuple[tuple[str, Cell], ...]]] = []
    if both is not None and draw:
        said = both(found).items()
        by = [(name, _output_cells(values, found.bug)) for name, values in said]
        card = replace(card, outputs=())
    module: Any = template_environment().get_template("card.html").module
    how: dict[str, Any] = {"is_first": number == 0, "brief": number >= WHOLE}
    small = found.bug.shrunk
    if small is not None:
        how["smaller"] = smaller_card(found.result, found.bug)
        how["how_small"] = shrunk_words(small)
    return Markup(module.card(found, card, pictures, by, gist_of(card, by), **how))


def _output_cells(said: Mapping[str, Any], bug: Bug) -> tuple[tuple[str, Cell], ...]:
    described = {name: describe(value) for name, value in said.items()}
    return card_as_recorded(replace(bug, inputs={}, outputs=described)).outputs


def gist_of(card: Card, by: Sequence[tuple[str, tuple[tuple[str, Cell], ...]]]) -> str:
    """Return what a bug is about in half a line: what changed, and what came out."""
    said = [
        f"{row.field} {' → '.join(_plain_text(cell) for cell in row.cells)}"
        for table in card.tables
        for row in table.rows[:2]
    ][:2]
    more = card.changes - len(said)
    said += [f"{more} more"] if more > 0 and said else []
    outputs = card.outputs[:4] if not by else [(by[-1][0], c) for _, c in by[-1][1][:2]]
    said += [f"{name} = {_plain_text(cell)}" for name, cell in outputs]
    if not said and card.texts:
        said = [_plain_text(card.texts[0][1], 60)]
    return ", ".join(said)


def _plain_text(cell: Cell, longest: int = 24) -> str:
    text = "".join(piece.text for piece in cell if piece.kind in ("", "ins"))
    return shorten_text(text, longest)

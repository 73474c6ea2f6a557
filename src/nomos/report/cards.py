"""One bug as a reader sees it: records, texts, pictures, values and outputs.

What was recorded of a bug is shown. Where the running program is there and can show
more, the bug is run again to be drawn.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from nomos.domain.show import (
    Fields,
    Image,
    Scene,
    Shown,
    Sound,
    Words,
    looks,
    show_record,
)
from nomos.errors import NomosError
from nomos.report.sequences import compare_sequences, list_array
from nomos.report.texts import (
    Piece,
    Written,
    fit_texts,
    names_in_block,
    shorten_text,
    word_changes,
)
from nomos.results.describe import describe
from nomos.results.result import Bug, Result

_LONGEST_TEXT = 4000  # characters of a value; longer ones are cut around the change
_LONGEST_SAME = 120  # characters of a value that is the same in all records
_MARKED_TEXT = 24  # characters of a text whose change is marked word by word
_MOST_FIELDS = 200  # of a record; those that changed come first
Record = Mapping[str, Any]  # described
Cell = tuple[Piece, ...]
_ITEM = re.compile(r"([A-Za-z_]\w*)\[(\w+)\]")
_SHORT_TEXT = 60  # characters; such a text is a value like a number
_DIGEST = {"shape", "dtype", "sha256"}  # what is recorded of a large array
Drawn = Image | Sound | Scene


@dataclass(frozen=True, slots=True)
class CardRow:
    """A field in which records differ, with a cell for each."""

    field: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class CardTable:
    """Records of the same fields."""

    names: tuple[str, ...]
    rows: tuple[CardRow, ...]
    same: tuple[tuple[str, str], ...]  # fields that are the same, and their values
    left: int = 0  # fields that are not shown
    of_outputs: bool = False

    @property
    def noun(self) -> str:
        """What its fields are called: items have a place in brackets for a name."""
        fields = [*(row.field for row in self.rows), *(name for name, _ in self.same)]
        return "item" if all(name[:1] == "[" for name in fields) else "feature"

    @property
    def sameness(self) -> str:
        """What is the same in all records, as one text."""
        more = f" and {self.left:,} more" if self.left else ""
        return "  ".join(f"{field}={text}" for field, text in self.same) + more


@dataclass(frozen=True, slots=True)
class Card:
    """What is shown of a bug's values, in the words and numbers that are shown."""

    tables: tuple[CardTable, ...] = ()
    others: tuple[CardTable, ...] = ()  # records that the model is not given
    texts: tuple[tuple[str, Cell], ...] = ()
    values: tuple[tuple[str, Cell], ...] = ()
    outputs: tuple[tuple[str, Cell], ...] = ()
    drawn: Mapping[str, Drawn] = field(default_factory=dict)
    problem: str = ""

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is said of the records that are not shown; items of a list together."""
        names = [t.names[0] for t in self.others if _is_item(t)]
        items = Counter(name.partition("[")[0] for name in names)
        alone = [t.names[0] for t in self.others if not _is_item(t)]
        return (
            *(f"{name} is not given to the model" for name in alone),
            *(f"{count:,} more items of {name}" for name, count in items.items()),
        )

    @property
    def changes(self) -> int:
        """In how many fields the records differ."""
        return sum(len(table.rows) for table in self.tables if not table.of_outputs)


def _is_item(table: CardTable) -> bool:
    return table.names[0].endswith("]")


def find_culprits(bug: Bug) -> dict[str, Any]:
    """Return the items that an `ensures` that fails speaks of, by names as `xs[3]`.

    Where a `forall` fails, its indices are among the values of the bug.
    """
    known = {**bug.inputs, **bug.outputs}
    found: dict[str, Any] = {}
    for name, place in _ITEM.findall(bug.failed):
        number = known.get(place, place)
        number = int(number) if str(number).isdigit() else None
        values = bug.outputs.get(name)
        if number is not None and isinstance(values, Sequence) and number < len(values):
            found[f"{name}[{number}]"] = values[number]
        elif f"{name}[{number}]" in bug.inputs:
            found[f"{name}[{number}]"] = bug.inputs[f"{name}[{number}]"]
    return found


def card_of(
    result: Result, bug: Bug, *, draw: bool = False, smaller: bool = False
) -> Card:
    """Return the card of a bug; `draw` lets it be run again where that shows more.

    `smaller` runs its shrunk case then.
    """
    outputs, spec, live = result.subject.outputs, result.subject.text, result.live
    problem = ""
    if draw and live is not None and bug.inputs:
        try:
            is_more = _shows_more(bug, live.domain)
            values = live.values(bug, shrunk=smaller) if is_more else None
            if values:
                return card_as_replayed(values, outputs, live.domain, bug, spec)
        except Exception as error:  # a domain's own code: the report is worth more
            is_told = isinstance(error, NomosError)
            problem = str(error) if is_told else f"{type(error).__name__}: {error}"
    return replace(card_as_recorded(bug, spec), problem=problem)


def first_card(result: Result, bug: Bug) -> Card:
    """Return the card that a reader sees first: of the shrunk case, where there is one."""
    return smaller_card(result, bug, draw=True) or card_of(result, bug, draw=True)


def smaller_card(result: Result, bug: Bug, *, draw: bool = False) -> Card | None:
    """Return the card of the shrunk case that was found for a bug; None without one."""
    small = bug.shrunk
    if small is None:
        return None
    made = replace(
        bug,
        inputs=small.inputs,
        outputs=small.outputs,
        failed=small.failed,
        margin=small.margin,
    )
    return card_of(result, made, draw=draw, smaller=True)


def card_as_recorded(bug: Bug, spec: str = "") -> Card:
    """Return the card of a bug's values as they were recorded."""
    found = {n: show_record(v) for n, v in bug.inputs.items() if not _is_digest(v)}
    kinds = {name: look for name, look in found.items() if look is not None}
    return _build_card(bug, kinds, spec)


def _shows_more(bug: Bug, domain: Any) -> bool:
    """Tell whether a domain may show values in another way than they were recorded."""
    own = any(getattr(domain, name, None) for name in ("show", "show_case"))
    values = [*bug.inputs.values(), *bug.outputs.values()]
    return own or any(_is_digest(v) or isinstance(v, list) for v in values)


def card_as_replayed(
    values: Mapping[str, Any],
    outputs: tuple[str, ...],
    domain: Any,
    bug: Bug,
    spec: str = "",
) -> Card:
    """Return the card of a bug that was run again, as its domain shows its values."""
    schema = getattr(domain, "schema", None)
    given = {name: value for name, value in values.items() if name not in outputs}
    made = {name: values[name] for name in outputs if name in values}
    kinds = looks(given, domain, bug.choices)
    for name, look in kinds.items():
        if isinstance(look, Fields):
            kinds[name] = Fields({str(f): describe(v) for f, v in look.values.items()})
    for name, value in made.items():
        look_of_output = show_record(value, domain, schema)
        if isinstance(look_of_output, Image | Sound):
            kinds[name] = look_of_output
    described = [
        {
            name: describe(value if name in kinds else list_array(value), schema)
            for name, value in some.items()
        }
        for some in (given, made)
    ]
    again = replace(bug, inputs=described[0], outputs=described[1])
    return _build_card(again, kinds, spec)


def _build_card(bug: Bug, kinds: Mapping[str, Shown], spec: str) -> Card:
    """Put the values of a bug into words; `kinds` says how records are shown."""
    records = {n: look.values for n, look in kinds.items() if isinstance(look, Fields)}
    plain = {
        name: _value_in_words(value)
        for name, value in bug.inputs.items()
        if not isinstance(kinds.get(name), Fields | Image | Sound | Scene)
    }
    texts = {n: look.text for n, look in kinds.items() if isinstance(look, Words)}
    if any(len(t) > _SHORT_TEXT or "\n" in t for t in texts.values()):
        plain = {name: value for name, value in plain.items() if name not in texts}
    else:
        plain |= texts
        texts = {}
    drawn = {n: k for n, k in kinds.items() if isinstance(k, Image | Sound | Scene)}
    culprits = find_culprits(bug)
    said = {**{n: v for n, v in culprits.items() if n not in bug.inputs}, **bug.outputs}
    outputs = {n: _value_in_words(v) for n, v in said.items() if n not in drawn}
    written = Written(
        [*records.values(), *plain.values()], outputs.values(), bug.failed, bug.margin
    )
    listed, answers = compare_sequences(plain), compare_sequences(outputs)
    plain = {name: value for name, value in plain.items() if name not in listed}
    outputs = {name: value for name, value in outputs.items() if name not in answers}
    records |= listed
    used = names_in_block(spec)
    shown_tables, others = card_tables(
        records, written, used=used, outputs=len(bug.outputs), culprits=culprits
    )
    if answers:
        shown_tables.append(replace(_card_table(answers, written), of_outputs=True))
    return Card(
        tuple(shown_tables),
        tuple(others),
        tuple(zip(texts, mark_cells(list(texts.values()), written), strict=True)),
        tuple(_value_cells(plain, written)),
        tuple(_value_cells(outputs, written)),
        drawn,
    )


def _value_cells(values: Mapping[str, Any], written: Written) -> list[tuple[str, Cell]]:
    """Return values by name; long ones are cut so that they stay different."""
    texts = [written.text_of(value) for value in values.values()]
    pieces = fit_texts(texts, _LONGEST_TEXT)
    return [(name, tuple(p)) for name, p in zip(values, pieces, strict=True)]


def _is_digest(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == _DIGEST


def _value_in_words(value: Any) -> Any:
    """Return a value, with what is recorded of a large array in words."""
    if not _is_digest(value):
        return value
    shape = " by ".join(map(str, value["shape"]))
    return f"array, {shape} {value['dtype']}, sha256 {value['sha256'][:12]}"


def card_tables(
    records: Mapping[str, Record],
    written: Written,
    *,
    used: frozenset[str] = frozenset(),
    outputs: int = 0,
    culprits: Collection[str] = (),
) -> tuple[list[CardTable], list[CardTable]]:
    """Return records of the same fields side by side, and apart those that matter less."""
    alike: dict[tuple[str, ...], dict[str, Record]] = {}
    for name, record in records.items():
        alike.setdefault(tuple(record), {})[name] = record
    shown, others = [], []
    for group in alike.values():
        failing = [name for name in group if name in culprits]
        alone = [name for name in group if name in used and failing]
        chosen = [*alone, *failing] or that_matter(group, used=used, outputs=outputs)
        shown.append(_card_table({name: group[name] for name in chosen}, written))
        left = {n: record for n, record in group.items() if n not in chosen}
        others += [_card_table({name: one}, written) for name, one in left.items()]
    return shown, others


def that_matter(
    records: Mapping[str, Record], *, used: frozenset[str], outputs: int
) -> list[str]:
    """Return the records that the outputs depend on, as far as can be told.

    A record that only lends a value to another is not given to the model: the block
    does not name it. Where the block is not known, there are no more such records than
    outputs, and they are the ones most alike.
    """
    names = [name for name in records if name in used]
    names = names if len(names) > 1 else list(records)
    most = max(2, outputs)
    if len(names) <= most:
        return names
    pairs: list[tuple[str, str]] = list(combinations(names, 2))
    chosen = [*min(pairs, key=lambda pair: _count_differences(records, pair))]
    while len(chosen) < most:
        rest = [name for name in names if name not in chosen]
        chosen.append(
            min(rest, key=lambda n: _count_differences(records, (chosen[0], n)))
        )
    return [name for name in names if name in chosen]


def _count_differences(records: Mapping[str, Record], pair: tuple[str, str]) -> int:
    one, two = records[pair[0]], records[pair[1]]
    return sum(one[field] != two[field] for field in one)


def _card_table(records: Mapping[str, Record], written: Written) -> CardTable:
    first, *others = records.values()
    changed = [f for f in first if any(o[f] != first[f] for o in others)]
    same = [field for field in first if field not in set(changed)]
    longest = _LONGEST_SAME if others else _LONGEST_TEXT
    rows, kept = changed[:_MOST_FIELDS], same[: max(0, _MOST_FIELDS - len(changed))]
    values = {field: [r[field] for r in records.values()] for field in rows}
    cells = {field: tuple(mark_cells(own, written)) for field, own in values.items()}
    return CardTable(
        tuple(records),
        tuple(CardRow(field, own) for field, own in cells.items()),
        tuple((f, shorten_text(written.text_of(first[f]), longest)) for f in kept),
        len(first) - len(rows) - len(kept),
    )


def mark_cells(values: Sequence[Any], written: Written) -> Iterator[Cell]:
    """Yield values that belong together; texts are marked against the first."""
    texts = [written.text_of(value) for value in values]
    if all(len(text) <= _MARKED_TEXT for text in texts):
        yield from ((Piece("", text),) for text in texts)
        return
    pieces = fit_texts(texts, _LONGEST_TEXT)
    marked = all(isinstance(value, str) for value in values)
    for text, one in zip(texts, pieces, strict=True):
        if marked and text != texts[0]:
            yield tuple(_mark_changes(pieces[0], one))
        else:
            yield tuple(one)


def _mark_changes(before: Sequence[Piece], after: Sequence[Piece]) -> Iterator[Piece]:
    old = "".join(piece.text for piece in before if not piece.kind)
    for piece in after:
        yield from [piece] if piece.kind else word_changes(old, piece.text)

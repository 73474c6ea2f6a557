"""Records side by side: those that matter, what differs in them, what is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from nomos.report.numbers import Written
from nomos.report.texts import Piece, change, cut

_LONGEST_TEXT = 4000  # characters of a value; longer ones are cut around the change
_LONGEST_SAME = 120  # characters of a value that is the same in all records
_MARKED_TEXT = 24  # characters of a text whose change is marked word by word
_MOST_FIELDS = 200  # of a record; those that changed come first
Record = Mapping[str, Any]  # described
Cell = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A field in which records differ, with a cell for each."""

    field: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Records of the same fields."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    same: tuple[tuple[str, str], ...]  # fields that are the same, and their values
    left: int = 0  # fields that are not shown

    @property
    def sameness(self) -> str:
        """What is the same in all records, as one text."""
        more = f" and {self.left:,} more" if self.left else ""
        return "  ".join(f"{field}={text}" for field, text in self.same) + more


def tables(
    records: Mapping[str, Record],
    written: Written,
    *,
    used: frozenset[str] = frozenset(),
    outputs: int = 0,
) -> tuple[list[Table], list[Table]]:
    """Return records of the same fields side by side, and apart those that matter less."""
    alike: dict[tuple[str, ...], dict[str, Record]] = {}
    for name, record in records.items():
        alike.setdefault(tuple(record), {})[name] = record
    shown, others = [], []
    for group in alike.values():
        chosen = that_matter(group, used=used, outputs=outputs)
        shown.append(_table({name: group[name] for name in chosen}, written))
        left = {n: record for n, record in group.items() if n not in chosen}
        others += [_table({name: record}, written) for name, record in left.items()]
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
    chosen = [*min(pairs, key=lambda pair: _apart(records, pair))]
    while len(chosen) < most:
        rest = [name for name in names if name not in chosen]
        chosen.append(min(rest, key=lambda n: _apart(records, (chosen[0], n))))
    return [name for name in names if name in chosen]


def _apart(records: Mapping[str, Record], pair: tuple[str, str]) -> int:
    one, two = records[pair[0]], records[pair[1]]
    return sum(one[field] != two[field] for field in one)


def _table(records: Mapping[str, Record], written: Written) -> Table:
    first, *others = records.values()
    changed = [f for f in first if any(o[f] != first[f] for o in others)]
    same = [field for field in first if field not in set(changed)]
    longest = _LONGEST_SAME if others else _LONGEST_TEXT
    rows, kept = changed[:_MOST_FIELDS], same[: max(0, _MOST_FIELDS - len(changed))]
    return Table(
        tuple(records),
        tuple(
            Row(field, tuple(cells([r[field] for r in records.values()], written)))
            for field in rows
        ),
        tuple((f, _brief(written.text(first[f]), longest)) for f in kept),
        len(first) - len(rows) - len(kept),
    )


def _brief(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cells(values: Sequence[Any], written: Written) -> Iterator[Cell]:
    """Yield values that belong together; texts are marked against the first."""
    texts = [written.text(value) for value in values]
    if all(len(text) <= _MARKED_TEXT for text in texts):
        yield from ((Piece("", text),) for text in texts)
        return
    pieces = cut(texts, _LONGEST_TEXT)
    marked = all(isinstance(value, str) for value in values)
    for text, one in zip(texts, pieces, strict=True):
        if marked and text != texts[0]:
            yield tuple(_changed(pieces[0], one))
        else:
            yield tuple(one)


def _changed(before: Sequence[Piece], after: Sequence[Piece]) -> Iterator[Piece]:
    old = "".join(piece.text for piece in before if not piece.kind)
    for piece in after:
        yield from [piece] if piece.kind else change(old, piece.text)

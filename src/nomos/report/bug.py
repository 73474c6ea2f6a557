"""One bug as text: its records side by side, what differs marked, and the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from nomos.campaign.records import BugRecord

_LONGEST_VALUE = 48
_CHANGED = "bold yellow"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Records of one kind, feature by feature."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Any, ...]], ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The features in which the records differ."""
        return tuple(feature for feature, values in self.rows if differs(values))


def differs(values: tuple[Any, ...]) -> bool:
    """Tell whether the values of a feature are not all the same."""
    return any(value != values[0] for value in values[1:])


def compare(data: Mapping[str, Any]) -> Comparison | None:
    """Put the records among described values side by side; None if there are none."""
    records = {n: v for n, v in data.items() if isinstance(v, Mapping)}
    if not records:
        return None
    features = list(next(iter(records.values())))
    alike = {n: v for n, v in records.items() if list(v) == features}
    rows = tuple((f, tuple(record[f] for record in alike.values())) for f in features)
    return Comparison(tuple(alike), rows)


def describe_bug(bug: BugRecord) -> Text:
    """Return a recorded bug in full."""
    text = Text()
    text.append(bug.property, style="bold")
    text.append(f"  bug {bug.id}", style="bold red")
    text.append(f"   {bug.status}   `{bug.failed}` does not hold\n")
    origin = f"  {bug.spec}  model {bug.model or '-'}  seed {bug.seed}  case {bug.case}"
    text.append(f"{origin}  choices {list(bug.choices)}\n", style="dim")
    text.append(show_bug(bug.inputs, bug.outputs, everything=True))
    text.append(f"  nomos replay {bug.id}\n", style="dim")
    return text


def show_bug(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], *, everything: bool = False
) -> Text:
    """Return the picture of a bug; without `everything`, only what differs."""
    text = Text()
    compared = compare(inputs)
    if compared is not None:
        text.append(_side_by_side(compared, everything=everything))
    scalars = {n: v for n, v in inputs.items() if not isinstance(v, Mapping)}
    for title, values in (("vars", scalars), ("outputs", outputs)):
        if values:
            shown = "   ".join(f"{name} = {_short(v)}" for name, v in values.items())
            text.append(f"  {title:<8} ", style="dim")
            text.append(shown + "\n", style="bold" if title == "outputs" else "")
    return text


def _side_by_side(compared: Comparison, *, everything: bool) -> Text:
    changed = set(compared.changed)
    rows = [row for row in compared.rows if everything or row[0] in changed]
    hidden = len(compared.rows) - len(rows)
    table = [("", compared.names)]
    table += [(feature, tuple(_short(v) for v in values)) for feature, values in rows]
    widths = [max(len(row[1][i]) for row in table) for i in range(len(compared.names))]
    first = max(len(row[0]) for row in table)
    text = Text()
    for feature, cells in table:
        mark = "*" if feature in changed else " "
        line = f"  {mark} {feature:<{first}}  " + "   ".join(
            f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)
        )
        text.append(line.rstrip() + "\n", style=_CHANGED if mark == "*" else "")
    if hidden:
        text.append(f"    ({hidden} other features are the same)\n", style="dim")
    return text


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    shown = value if isinstance(value, str) else repr(value)
    shown = "".join(char if char.isprintable() else "�" for char in shown)
    return shown if len(shown) <= _LONGEST_VALUE else shown[: _LONGEST_VALUE - 1] + "…"

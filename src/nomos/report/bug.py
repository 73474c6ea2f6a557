"""One bug as a person sees it: its records side by side, what differs marked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from nomos.campaign.describe import describe
from nomos.campaign.records import BugRecord
from nomos.domain.show import Fields, Image, Scene, Shown, Sound, Words, looks
from nomos.report.pictures import blocks, difference, png, spectrogram, wav
from nomos.report.scenes import scenes_gif, scenes_png

_LONGEST_VALUE = 48
_CHANGED = "bold yellow"
_PIXELS_A_SIDE = 280  # of a picture written to a file, about


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


def heading(bug: BugRecord) -> Text:
    """Return the lines that say which bug this is."""
    text = Text()
    text.append(bug.property, style="bold")
    text.append(f"  bug {bug.id}", style="bold red")
    text.append(f"   {bug.status}   `{bug.failed}` does not hold\n")
    origin = f"  {bug.spec}  model {bug.model or '-'}  seed {bug.seed}  case {bug.case}"
    text.append(f"{origin}  choices {list(bug.choices)}\n", style="dim")
    return text


def show_bug(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], *, everything: bool = False
) -> Text:
    """Return the picture of a described bug; without `everything`, only what differs."""
    text = Text()
    compared = compare(inputs)
    if compared is not None:
        text.append(_side_by_side(compared, everything=everything))
    scalars = {n: v for n, v in inputs.items() if not isinstance(v, Mapping)}
    for title, values in (("values", scalars), ("outputs", outputs)):
        if values:
            line = "   ".join(f"{name} = {_short(v)}" for name, v in values.items())
            text.append(f"  {title:<8} ", style="dim")
            text.append(line + "\n", style="bold" if title == "outputs" else "")
    return text


def picture(
    values: Mapping[str, Any],
    outputs: tuple[str, ...],
    domain: Any,
    *,
    colour: bool,
    everything: bool = True,
    choices: tuple[int, ...] = (),
) -> Text:
    """Return a bug's values as its domain shows them: tables, texts, images, sounds."""
    given = {name: value for name, value in values.items() if name not in outputs}
    kinds = looks(given, domain, choices)
    text = Text()
    images = {n: look for n, look in kinds.items() if isinstance(look, Image | Sound)}
    if images:
        text.append(_images(images, colour=colour))
    texts = {n: look.text for n, look in kinds.items() if isinstance(look, Words)}
    first: str | None = None
    for name, words in texts.items():
        text.append(f"  {name}: ", style="dim")
        text.append(
            Text(_printable(words)) if first is None else text_change(first, words)
        )
        text.append("\n")
        first = words if first is None else first
    drawn = {*images, *texts}
    data = {
        name: describe(dict(look.values))
        if isinstance(look, Fields)
        else describe(value)
        for name, value in values.items()
        if name not in drawn
        for look in [kinds.get(name)]
    }
    inputs = {name: value for name, value in data.items() if name not in outputs}
    results = {name: data[name] for name in outputs if name in data}
    text.append(show_bug(inputs, results, everything=everything))
    text.append(_captions(_scenes(kinds)))
    return text


def _scenes(kinds: Mapping[str, Shown]) -> dict[str, Scene]:
    """Return the scenes among what is shown."""
    return {name: look for name, look in kinds.items() if isinstance(look, Scene)}


def _captions(scenes: Mapping[str, Scene]) -> Text:
    text = Text()
    for name, scene in scenes.items():
        text.append(f"  {name:<8} ", style="dim")
        text.append(_printable(scene.caption).replace("\n", "; ") + "\n")
    return text


def _images(looks: Mapping[str, Image | Sound], *, colour: bool) -> Text:
    pictures = {
        name: look if isinstance(look, Image) else spectrogram(look)
        for name, look in looks.items()
    }
    first, *others = pictures.values()
    if others and (change := difference(first, others[0])) is not None:
        pictures["difference"] = change[0]
    drawn = {name: blocks(image, colour=colour) for name, image in pictures.items()}
    text = Text()
    for name, lines in drawn.items():
        text.append(f"  {name}".ljust(len(lines[0]) + 2)[: len(lines[0]) + 2])
    text.append("\n")
    for number in range(max(map(len, drawn.values()))):
        for lines in drawn.values():
            blank = Text(" " * len(lines[0]))
            text.append("  ")
            text.append(lines[number] if number < len(lines) else blank)
        text.append("\n")
    return text


def text_change(before: str, after: str) -> Text:
    """Return a text with what was added and removed marked, word by word."""
    old, new = (re.findall(r"\S+|\s+", _printable(text)) for text in (before, after))
    text = Text()
    for kind, a, b, c, d in difflib.SequenceMatcher(
        None, old, new, False
    ).get_opcodes():
        if kind == "equal":
            text.append("".join(new[c:d]))
            continue
        if b > a:
            text.append("[-" + "".join(old[a:b]) + "-]", style="red strike")
        if d > c:
            text.append("{+" + "".join(new[c:d]) + "+}", style="bold green")
    return text


def write_files(
    values: Mapping[str, Any],
    outputs: tuple[str, ...],
    domain: Any,
    folder: Path,
    choices: tuple[int, ...] = (),
) -> list[Path]:
    """Write a bug's images, sounds and texts as files; return which."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    given = {name: value for name, value in values.items() if name not in outputs}
    kinds = looks(given, domain, choices)
    for name, look in kinds.items():
        match look:
            case Image(pixels=pixels):
                path = folder / f"{name}.png"
                scale = max(1, _PIXELS_A_SIDE // max(pixels.shape[:2]))
                path.write_bytes(png(pixels, scale=scale))
            case Sound():
                path = folder / f"{name}.wav"
                path.write_bytes(wav(look))
                written.append(path)
                path = folder / f"{name}.png"
                path.write_bytes(png(spectrogram(look).pixels, scale=3))
            case Words(text=text):
                path = folder / f"{name}.txt"
                path.write_text(text, encoding="utf-8")
            case Scene(caption=caption):
                path = folder / f"{name}.txt"
                path.write_text(caption + "\n", encoding="utf-8")
            case Fields(values=fields):
                path = folder / f"{name}.txt"
                lines = [f"{field}: {value}" for field, value in fields.items()]
                path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        written.append(path)
    return [*written, *_write_scenes(_scenes(kinds), folder)]


def _write_scenes(scenes: Mapping[str, Scene], folder: Path) -> list[Path]:
    if not scenes:
        return []
    still, moving = folder / "scenes.png", folder / "scenes.gif"
    still.write_bytes(scenes_png(scenes))
    moving.write_bytes(scenes_gif(scenes))
    return [still, moving]


def _side_by_side(compared: Comparison, *, everything: bool) -> Text:
    changed = set(compared.changed)
    everything = everything or not changed  # one record, or records that are all alike
    rows = [row for row in compared.rows if everything or row[0] in changed]
    hidden = len(compared.rows) - len(rows)
    long = any(
        isinstance(v, str) and len(v) > _LONGEST_VALUE for _, vs in rows for v in vs
    )
    if long:
        return _one_below_the_other(compared, rows)
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


def _one_below_the_other(
    compared: Comparison, rows: list[tuple[str, tuple[Any, ...]]]
) -> Text:
    """Show long texts whole, each against the first."""
    text = Text()
    for feature, values in rows:
        for name, value in zip(compared.names, values, strict=True):
            text.append(f"    {name}.{feature}: ", style="dim")
            same = value == values[0] or not isinstance(value, str)
            text.append(
                Text(_printable(str(value))) if same else text_change(values[0], value)
            )
            text.append("\n")
    return text


def _printable(text: str) -> str:
    """Replace what a terminal would act on."""
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = _printable(value if isinstance(value, str) else repr(value)).replace(
        "\n", " "
    )
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"

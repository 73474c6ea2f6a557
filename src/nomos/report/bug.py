"""One bug on a terminal and in files: its records side by side, what differs marked."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from nomos.domain.show import Fields, Image, Scene, Sound, Words, looks
from nomos.report.cards import Card, CardTable, Cell, card_as_replayed
from nomos.report.pictures import (
    image_difference,
    png_bytes,
    spectrogram,
    text_blocks,
    wav_bytes,
)
from nomos.report.texts import terminal_lines
from nomos.report.view import IN_BATCH
from nomos.results.result import Bug
from nomos.store.rows import BugRecord
from nomos.terminal import printable

WIDTH = 120  # columns, where nobody says how many there are
_LONGEST_VALUE = 48
_CHANGED = "bold yellow"
_PIXELS_A_SIDE = 280  # of a picture written to a file, about
_STYLES = {"ins": "bold green", "del": "red strike", "cut": "dim", "": ""}
_MARKS = {"ins": ("{+", "+}"), "del": ("[-", "-]"), "cut": ("", ""), "": ("", "")}


def bug_heading(record: BugRecord) -> Text:
    """Return the lines that say which bug this is."""
    bug, subject = record.bug, record.subject
    text = Text()
    text.append(subject.property, style="bold")
    text.append(f"  bug {bug.id}", style="bold red")
    text.append(f"   {record.status}   `{bug.failed}` does not hold\n")
    origin = f"  {subject.spec}  model {subject.model or '-'}  seed {record.seed}"
    about = f"{origin}  case {bug.case}  choices {list(bug.choices)}\n"
    text.append(about, style="dim")
    if bug.confirmed == "batch":
        text.append(f"  {IN_BATCH}\n", style="dim")
    return text


def bug_picture(
    values: Mapping[str, Any],
    outputs: tuple[str, ...],
    domain: Any,
    *,
    colour: bool,
    choices: tuple[int, ...] = (),
    failed: str = "",
) -> Text:
    """Return a bug's values as its domain shows them: tables, texts, images, sounds."""
    card = card_as_replayed(values, outputs, domain, Bug("", 0, choices, failed))
    # Only a terminal has colours, and a width to keep to.
    width = shutil.get_terminal_size((WIDTH, 24)).columns if colour else WIDTH
    return card_text(card, colour=colour, everything=True, width=width)


def card_text(
    card: Card, *, colour: bool = False, everything: bool = False, width: int = WIDTH
) -> Text:
    """Return a card as lines of a terminal."""
    text = Text()
    images = {n: k for n, k in card.drawn.items() if isinstance(k, Image | Sound)}
    if images:
        text.append(_image_blocks(images, colour=colour, width=width))
    for name, cell in card.texts:
        text.append(f"  {name}: ", style="dim")
        text.append(cell_text(cell)).append("\n")
    for table in card.tables:
        text.append(_table_text(table, everything=everything, width=width))
    for table in card.others if everything else ():
        text.append(_table_text(table, everything=True, width=width))
    for said in () if everything else card.left_out:
        text.append(f"    ({said})\n", style="dim")
    for title, values in (("values", card.values), ("outputs", card.outputs)):
        text.append(_value_line(title, values, everything=everything))
    for name, scene in card.drawn.items():
        if isinstance(scene, Scene):
            text.append(f"  {name:<8} ", style="dim")
            text.append(printable(scene.caption).replace("\n", "; ") + "\n")
    return text


def cell_text(cell: Cell) -> Text:
    """Return a value, with what was added and removed marked."""
    text = Text()
    for piece in cell:
        begin, end = _MARKS[piece.kind]
        text.append(begin + printable(piece.text) + end, style=_STYLES[piece.kind])
    return text


def _value_line(
    title: str, values: Sequence[tuple[str, Cell]], *, everything: bool
) -> Text:
    text = Text()
    if not values:
        return text
    words = ["".join(piece.text for piece in cell) for _, cell in values]
    longest = 10 * _LONGEST_VALUE if everything else _LONGEST_VALUE
    pairs = zip(values, terminal_lines(words, longest), strict=True)
    line = "   ".join(f"{name} = {word}" for (name, _), word in pairs)
    text.append(f"  {title:<8} ", style="dim")
    return text.append(line + "\n", style="bold" if title == "outputs" else "")


def _table_text(table: CardTable, *, everything: bool, width: int) -> Text:
    same = table.same if everything or not table.rows else ()
    lines = [("", list(table.names), False)]
    for row in table.rows:
        kept = [[p.text for p in cell if p.kind != "del"] for cell in row.cells]
        cells = [printable("".join(texts)).replace("\n", " ") for texts in kept]
        lines.append((row.field, cells, True))
    lines += [(field, [word] * len(table.names), False) for field, word in same]
    columns = [max(len(line[1][i]) for line in lines) for i in range(len(table.names))]
    first = max(len(line[0]) for line in lines)
    long = any(len(cell) > _LONGEST_VALUE for _, cells, _ in lines for cell in cells)
    text = Text()
    if long or 6 + first + sum(columns) + 3 * len(columns) > width:
        text.append(_one_below_the_other(table, same))
    else:
        for field, cells, changed in lines:
            mark = "*" if changed else " "
            words = (f"{c:>{w}}" for c, w in zip(cells, columns, strict=True))
            line = f"  {mark} {field:<{first}}  " + "   ".join(words)
            text.append(line.rstrip() + "\n", style=_CHANGED if changed else "")
    hidden = len(table.same) - len(same) + table.left
    if hidden:
        are = f"{table.noun} is" if hidden == 1 else f"{table.noun}s are"
        text.append(f"    ({hidden} other {are} the same)\n", style="dim")
    return text


def _one_below_the_other(table: CardTable, same: Sequence[tuple[str, str]]) -> Text:
    """Show long values whole, each against the first."""
    text = Text()
    for row in table.rows:
        for name, cell in zip(table.names, row.cells, strict=True):
            text.append(f"  * {name}.{row.field}: ", style="dim")
            text.append(cell_text(cell)).append("\n")
    for field, word in same:
        text.append(f"    {field}: ", style="dim").append(f"{printable(word)}\n")
    return text


def _image_blocks(
    kinds: Mapping[str, Image | Sound], *, colour: bool, width: int
) -> Text:
    pictures = {
        n: spectrogram(k) if isinstance(k, Sound) else k for n, k in kinds.items()
    }
    first, *others = pictures.values()
    if others and (change := image_difference(first, others[0])) is not None:
        pictures["difference"] = change[0]
    drawn = {n: text_blocks(image, colour=colour) for n, image in pictures.items()}
    text = Text()
    side_by_side = sum(len(lines[0]) + 2 for lines in drawn.values()) <= width
    groups = [drawn] if side_by_side else [{n: lines} for n, lines in drawn.items()]
    for group in groups:
        widths = {name: len(lines[0]) + 2 for name, lines in group.items()}
        *cut, last = (f"  {name}".ljust(width) for name, width in widths.items())
        text.append("".join(c[:w] for c, w in zip(cut, widths.values(), strict=False)))
        text.append(f"{last}\n")
        for number in range(max(map(len, group.values()))):
            for lines in group.values():
                blank = Text(" " * len(lines[0]))
                text.append("  ")
                text.append(lines[number] if number < len(lines) else blank)
            text.append("\n")
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
    given = {name: value for name, value in values.items() if name not in outputs}
    kinds = looks(given, domain, choices)
    written: dict[str, str | bytes] = {}
    for name, look in kinds.items():
        match look:
            case Image(pixels=pixels):
                scale = max(1, _PIXELS_A_SIDE // max(pixels.shape[:2]))
                written[f"{name}.png"] = png_bytes(pixels, scale=scale)
            case Sound():
                written[f"{name}.wav"] = wav_bytes(look)
                written[f"{name}.png"] = png_bytes(spectrogram(look).pixels, scale=3)
            case Words(text=text):
                written[f"{name}.txt"] = text
            case Scene(caption=caption):
                written[f"{name}.txt"] = caption + "\n"
            case Fields(values=fields):
                lines = [f"{field}: {value}\n" for field, value in fields.items()]
                written[f"{name}.txt"] = "".join(lines)
    scenes = {name: look for name, look in kinds.items() if isinstance(look, Scene)}
    if scenes:
        from nomos.report.html.drawings import scenes_svg

        written["scenes.svg"] = scenes_svg(scenes)
    for name, content in written.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    return [folder / name for name in written]

"""Lay out a text that may be broken at some places so that it fits a width."""

from __future__ import annotations

from dataclasses import dataclass

INDENT = 2
WIDTH = 88


@dataclass(frozen=True, slots=True)
class Line:
    """A place where the text may be broken; `flat` stands there if it is not."""

    flat: str


@dataclass(frozen=True, slots=True)
class Nest:
    """A text whose broken lines are indented further."""

    inside: Doc


@dataclass(frozen=True, slots=True)
class Group:
    """A text that is broken at all of its own places, or at none."""

    inside: Doc


Doc = str | Line | Nest | Group | tuple["Doc", ...]
_Todo = list[tuple[int, bool, Doc]]  # indentation, whether lines are broken, what


def lay_out(doc: Doc, *, width: float = WIDTH) -> str:
    """Return the text, broken only where it would not fit."""
    out: list[str] = []
    column = 0
    todo: _Todo = [(0, True, doc)]
    while todo:
        indent, broken, part = todo.pop()
        match part:
            case str():
                out.append(part)
                column += len(part)
            case Line(flat=flat):
                out.append("\n" + " " * indent if broken else flat)
                column = indent if broken else column + len(flat)
            case Nest(inside=inside):
                todo.append((indent + INDENT, broken, inside))
            case Group(inside=inside):
                # What is inside a text on one line is on one line, too.
                flat_anyway = not broken or width == float("inf")
                fits = flat_anyway or _fits_on_line(
                    width - column, todo, (indent, False, inside)
                )
                todo.append((indent, not fits, inside))
            case _:
                todo.extend((indent, broken, child) for child in reversed(part))
    return "".join(out)


def _fits_on_line(room: float, after: _Todo, first: tuple[int, bool, Doc]) -> bool:
    """Tell whether a part fits unbroken, with all that follows it on its line."""
    todo = [first]
    following = len(after)
    while room >= 0:
        if not todo:
            if following == 0:
                return True
            following -= 1
            todo.append(after[following])
        indent, broken, part = todo.pop()
        match part:
            case str():
                room -= len(part)
            case Line(flat=flat):
                if broken:
                    return True
                room -= len(flat)
            case Nest(inside=inside) | Group(inside=inside):
                todo.append((indent, broken, inside))
            case _:
                todo.extend((indent, broken, child) for child in reversed(part))
    return False

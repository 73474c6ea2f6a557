"""Parts of a result that are worked out when somebody looks at them.

Whoever runs a campaign from a program may want its counts alone, while its groups and
smaller cases cost more than the campaign. A part that is put off is an instance of its
own class whose fields are filled at the first look at one of them; it is equal to one
that was made at once, is written to JSON and pickled as that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def put_off(kind: type[T], make: Callable[[], T], **known: Any) -> T:
    """Return a dataclass with slots that `make` makes later, but for the `known` fields."""
    known_kind: Any = kind
    later: T = object.__new__(_class_of(known_kind))
    object.__setattr__(later, "_made_by", (make, known))
    for name, value in known.items():
        object.__setattr__(later, name, value)
    return later


@cache
def _class_of(kind: Any) -> Any:
    """Return the class of parts of a kind that are put off: a class takes a millisecond."""
    names = [field.name for field in fields(kind)]

    class Later(kind):  # type: ignore[misc]  # whichever it is
        __slots__ = ("_made_by",)

        def __getattr__(self, name: str) -> Any:  # of a slot that is empty
            if name not in names:
                raise AttributeError(name)
            make, known = self._made_by
            made = make()
            for one in names:
                if one not in known:
                    object.__setattr__(self, one, getattr(made, one))
            return getattr(self, name)

        def _values(self) -> tuple[Any, ...]:
            return tuple(getattr(self, one) for one in names)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, kind) and kind(*self._values()) == kind(
                *(getattr(other, one) for one in names)
            )

        __hash__ = None  # type: ignore[assignment]  # it may have mappings

        def __repr__(self) -> str:
            return repr(kind(*self._values()))

        def __reduce__(self) -> tuple[Any, ...]:
            return kind, self._values()

    return Later

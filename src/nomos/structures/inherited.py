"""Which class of a library an object behaves as: by its type, never by its class's name.

A class of the user's own may inherit from one of a library. It is taken for the library's
where it overrides nothing of it: then all that is known of the library's class holds for it.
A class that is merely called the same is another class. A method that is replaced on the
object, or found in a mixin first, counts as overridden. Not seen is what changes without a
trace in the object: a patched library, or a metaclass with attributes of its own; proofs
compare the structure with the real answers besides.
"""

import sys
from collections.abc import Iterable
from typing import Any

from nomos.errors import NotProvable

# What a subclass may have of its own: none of it has a part in answers.
_HARMLESS = {
    "__init__", "__repr__", "__str__", "_repr_html_", "get_params", "set_params", "score",
    "__doc__", "__module__", "__qualname__", "__dict__", "__weakref__", "__slots__",
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__",
    "__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl",
    "__orig_bases__", "__parameters__", "_sklearn_auto_wrap_output_keys",
}  # fmt: skip


def find_loaded_class(name: str) -> type | None:
    """Return a class by its `module:Class` where its library has been imported."""
    module, _, own = name.partition(":")
    # Not by getattr, for which modules may import more, or raise what they like.
    found = getattr(sys.modules.get(module), "__dict__", {}).get(own)
    return found if isinstance(found, type) else None


def is_instance(value: Any, names: Iterable[str]) -> bool:
    """Say whether an object is of one of these classes, or of one derived from them."""
    known = (own for name in names if (own := find_loaded_class(name)))
    return any(isinstance(value, own) for own in known)


def find_class(value: Any, names: Iterable[str]) -> str:
    """Return which of the classes an object behaves as, "" where it is of none.

    Raises NotProvable where its own class overrides a part of the library's.
    """
    known = {
        own: name for name in names if (own := find_loaded_class(name)) is not None
    }
    for own in type(value).__mro__:
        if own in known:
            check_inherited(value, own)
            return known[own]
    return ""


def find_plain_class(value: Any, names: Iterable[str]) -> str:
    """Return the same, and "" too where the object's own class overrides a part."""
    try:
        return find_class(value, names)
    except NotProvable:
        return ""


def check_inherited(value: Any, base: type) -> None:
    """Raise NotProvable where an object does not behave as a class that it is of.

    What its type finds by a name has to be what the class finds, mixins included, and no
    method may be replaced on the object itself. Costs one look at each name of the class.
    """
    inherited, own = _members(base), _members(type(value))
    replaced = {n for n in getattr(value, "__dict__", ()) if callable(inherited.get(n))}
    changed = {n for n in inherited if own[n] is not inherited[n]} | replaced
    # scikit-learn gives each subclass new functions `set_…_request`, which only configure.
    changed = {n for n in changed - _HARMLESS if not n.endswith("_request")}
    if changed:
        raise NotProvable(
            f"a {type(value).__name__} is a {base.__name__} that overrides "
            f"{', '.join(f'`{name}`' for name in sorted(changed)[:3])}, so what it "
            "answers is not known to a proof"
        )


def _members(kind: type) -> dict[str, Any]:
    """Return what a class finds by each name, as its order of bases has it."""
    return {n: v for own in reversed(kind.__mro__) for n, v in vars(own).items()}

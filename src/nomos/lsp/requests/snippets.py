"""The ready relations as snippets, made from the specs that `nomos.relations` writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from lsprotocol import types

from nomos import relations

# What each relation is called with: names that are to be filled in, in capitals.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "monotone": ("FEATURE",),
    "fair": ("FEATURE",),
    "robust": ("FEATURE",),
    "exchangeable": ("FEATURE", "OTHER"),
    "invariant": ("CHANGED",),
    "better_when_easier": ("HARDER",),
    "symmetric": ("SIMILARITY",),
    "transitive": ("PREFERS",),
    "triangle": ("DISTANCE",),
    "additive": ("JOINED",),
}


@cache
def _texts() -> dict[str, tuple[str, str]]:
    """Return the text of each relation, with capitals to fill in, and what it says."""
    made = {}
    for name, arguments in _ARGUMENTS.items():
        relation = getattr(relations, name)
        about = (relation.__doc__ or "").partition("\n")[0]
        given = (list(arguments),) if name == "robust" else arguments
        made[name] = relation(*given).text, about
    return made


def relation_snippets(features: Sequence[str]) -> list[types.CompletionItem]:
    """Return a snippet for each relation; the features are those of the domain."""
    return [
        types.CompletionItem(
            label=f"relation {name}",
            kind=types.CompletionItemKind.Snippet,
            detail=about,
            documentation=text,
            insert_text=_with_places(name, text, features),
            insert_text_format=types.InsertTextFormat.Snippet,
            filter_text=f"relation {name} {name}",
            sort_text=f"4{name}",
        )
        for name, (text, about) in _texts().items()
    ]


def _with_places(name: str, text: str, features: Sequence[str]) -> str:
    """Return a text in which the names to fill in are places of a snippet."""
    text = text.replace("\\", "\\\\").replace("$", "\\$")
    for number, word in enumerate(_ARGUMENTS[name], start=1):
        is_feature = word in ("FEATURE", "OTHER")
        known = features[number - 1 : number] if is_feature else ()
        meant = known[0] if known else word.lower()
        text = text.replace(word, f"${{{number}:{meant}}}")
    return text

"""What can stand at a place of a spec, for an editor to offer."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from string import ascii_letters, digits

from lsprotocol import types

from nomos import relations
from nomos.diagnostics import Span
from nomos.domain.find import find_root
from nomos.lang.reading.tree import COMMENT
from nomos.lsp.document import Document
from nomos.lsp.occurrences import Role
from nomos.lsp.requests import words
from nomos.runner.project.specs import is_library

Kind = types.CompletionItemKind
_COMMENTS = re.compile(COMMENT, re.DOTALL)
_WORD = re.compile(r"\w*")
_IN_STRING = re.compile(r"\b[gs]etFeat\(\s*[^,\"']+,\s*[\"']\w*$")
_LEVEL = re.compile(r"\.(\w+)\s*(?:[=!]=|in\s*\{(?:\s*\"[^\"]*\"\s*,)*)\s*\"[^\"]*$")
_UPDATED_LEVEL = re.compile(r"\[\s*(\w+)\s*:=\s*\"[^\"]*$")
_STATEMENT = re.compile(r"[^;}]*$")
_INDICES = re.compile(
    r"\b(?:forall|exists|count|sum|min|max|mean)\s+([\w\s,<]+?)\s+in\b"
)
_PARAMETERS = re.compile(r"\s*def\s+\w+\(([^)]*)\)")
_DOT = re.compile(r"(?:\b([A-Za-z_]\w*)|[\])])\s*\.\s*\w*$")
_UPDATE = re.compile(r"[\w\])]\[\s*\w*$")
_IMPORT = re.compile(r"\bimport\s+\w*$")
_USE = re.compile(r"\buse\s+\"[^\"\n]*$")
_PARAM_TYPE = re.compile(r"\bparam\s+\w+\s*:\s*\w*$")
_NEW_NAME = re.compile(r"\b(?:input|output|var|param|def)\s+\w*$")
_MOST_FILES = 500  # that are looked at
_VALUES = (Role.INPUT, Role.VAR, Role.OUTPUT, Role.PARAM)
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


def complete_at(document: Document, offset: int) -> list[types.CompletionItem]:
    """Return what can be written at an offset."""
    block = document.block
    text = document.source.text[:offset]
    if block is not None and block.start < offset < block.end:
        return list(_complete_in_block(document, text[block.start + 1 :]))
    if block is not None and offset >= block.end:
        text = text[block.end :]
    if _is_in_comment(text):
        return []
    found = _complete_in_statement(document, text)
    if block is None or offset > block.start:
        return list(found)
    roles = document.roles  # outputs have no value before the block
    return [item for item in found if roles.get(item.label) is not Role.OUTPUT]


def _is_in_comment(text: str) -> bool:
    ends = [found.end() for found in _COMMENTS.finditer(text)]
    is_last = bool(ends) and ends[-1] == len(text) and not text.endswith("*/")
    return is_last or text.rfind("/*") > text.rfind("*/")


def _complete_in_block(document: Document, text: str) -> Iterator[types.CompletionItem]:
    if _IN_STRING.search(text):
        yield from _feature_items(document)
    elif found := _DOT.search(text):
        if document.roles.get(found[1] or "") is Role.IMPORT:
            yield from _function_items(document, built_in=False)
    else:
        yield from _value_items(document)
        yield from _function_items(document)


def _complete_in_statement(
    document: Document, text: str
) -> Iterator[types.CompletionItem]:
    if _IN_STRING.search(text):
        yield from _feature_items(document)
    elif found := _LEVEL.search(text) or _UPDATED_LEVEL.search(text):
        yield from _level_items(document, found[1])
    elif _USE.search(text):
        yield from _library_items(document.path)
    elif text.count('"', text.rfind("\n") + 1) % 2:
        return
    elif found := _DOT.search(text):
        if document.roles.get(found[1] or "") is Role.IMPORT:
            yield from _function_items(document, built_in=False)
        else:
            yield from _feature_items(document)
    elif _UPDATE.search(text):
        yield from _feature_items(document, " := ")
        yield from _value_items(document)
    elif _IMPORT.search(text):
        yield from _module_items(document.path)
    elif _PARAM_TYPE.search(text):
        for word, about in words.TYPES.items():
            yield _completion_item(word, Kind.TypeParameter, doc=about)
    elif not _NEW_NAME.search(text):
        yield from _statement_items(document, text)


def _statement_items(document: Document, text: str) -> Iterator[types.CompletionItem]:
    before = _COMMENTS.sub(" ", text).rstrip("_" + digits + ascii_letters).rstrip()
    if not before or before[-1] in ";}":
        for word, about in words.KEYWORDS.items():
            yield _completion_item(
                word, Kind.Keyword, doc=about, order="3", snippet=words.STATEMENTS[word]
            )
        yield from _relation_items(list(document.imports.features))
        return
    (statement,) = _STATEMENT.findall(_COMMENTS.sub(" ", text))[:1]
    is_shared = statement.split()[:1] == ["def"]
    yield from _local_items(statement)
    for item in _value_items(document):
        if not is_shared or document.roles[item.label] is Role.PARAM:
            yield item
    yield from _function_items(document)
    for name, role in document.roles.items():
        if role is Role.DEFINITION:
            yield _completion_item(name, Kind.Function, "a definition")
    for word, about in words.EXPRESSIONS.items():
        form = words.FORMS.get(word, "")
        order = "3" if form else "1"
        yield _completion_item(word, Kind.Keyword, doc=about, order=order, snippet=form)


def _local_items(statement: str) -> Iterator[types.CompletionItem]:
    """Yield the indices of quantifiers, and the parameters of a definition."""
    for pattern, what in ((_INDICES, "an index"), (_PARAMETERS, "a parameter")):
        for name in re.findall(r"\w+", " ".join(pattern.findall(statement))):
            yield _completion_item(name, Kind.Variable, what, order="0")


def _feature_items(document: Document, end: str = "") -> Iterator[types.CompletionItem]:
    for number, feature in enumerate(document.imports.features.values()):
        about = feature.name, Kind.Field, feature.range
        item = _completion_item(*about, order=f"0{number:04}")
        item.insert_text = feature.name + end
        yield item


def _level_items(document: Document, feature: str) -> Iterator[types.CompletionItem]:
    known = document.imports.features.get(feature)
    for level in known.levels if known else ():
        yield _completion_item(level, Kind.EnumMember, f"a value of {feature}")


def _function_items(
    document: Document, *, built_in: bool = True
) -> Iterator[types.CompletionItem]:
    own = document.imports.functions
    for function in own.values():
        told = function.name, Kind.Function, function.signature
        yield _completion_item(*told, function.doc)
    for name, (signature, about) in words.BUILT_IN.items():
        if built_in and name not in own:
            yield _completion_item(name, Kind.Function, signature, about, order="2")


def _value_items(document: Document) -> Iterator[types.CompletionItem]:
    for name, role in document.roles.items():
        if role in _VALUES:
            type_ = document.types.get(name)
            detail = f"{role.value}, {type_}" if type_ else role.value
            yield _completion_item(name, Kind.Variable, detail, order="0")


def _module_items(spec: Path) -> Iterator[types.CompletionItem]:
    """Yield the Python files that an `import` would find near the spec."""
    folder, root = spec.parent, find_root(spec.parent)
    for candidate in (folder, *folder.parents):
        for path in sorted(candidate.glob("*.py")):
            if path.stem.isidentifier() and path.stem != "__init__":
                yield _completion_item(path.stem, Kind.Module, str(path))
        if root is None or candidate == root:
            return


def _library_items(spec: Path) -> Iterator[types.CompletionItem]:
    for path in islice(sorted(spec.parent.rglob("*.nom")), _MOST_FILES):
        if path != spec and is_library(path):
            name = path.relative_to(spec.parent).as_posix()
            yield _completion_item(name, Kind.File, "params and definitions")


def _relation_items(features: Sequence[str]) -> Iterator[types.CompletionItem]:
    """Yield each relation as a snippet; the features are those of the domain."""
    for name, (text, about) in _relation_texts().items():
        snippet = _with_places(name, text, features)
        title = f"relation {name}"
        item = _completion_item(title, Kind.Snippet, about, text, "4", snippet)
        item.filter_text = f"{title} {name}"
        yield item


@cache
def _relation_texts() -> dict[str, tuple[str, str]]:
    """Return the text of each relation, with capitals to fill in, and what it says."""
    made = {}
    for name, arguments in _ARGUMENTS.items():
        relation = getattr(relations, name)
        about = (relation.__doc__ or "").partition("\n")[0]
        given = (list(arguments),) if name == "robust" else arguments
        made[name] = relation(*given).text, about
    return made


def _with_places(name: str, text: str, features: Sequence[str]) -> str:
    """Return a text in which the names to fill in are places of a snippet."""
    text = text.replace("\\", "\\\\").replace("$", "\\$")
    for number, word in enumerate(_ARGUMENTS[name], start=1):
        is_feature = word in ("FEATURE", "OTHER")
        known = features[number - 1 : number] if is_feature else ()
        meant = known[0] if known else word.lower()
        text = text.replace(word, f"${{{number}:{meant}}}")
    return text


def _completion_item(
    label: str,
    kind: types.CompletionItemKind,
    detail: str = "",
    doc: str = "",
    order: str = "1",
    snippet: str = "",
) -> types.CompletionItem:
    """Return a thing to offer; a snippet has places in it to fill in."""
    item = types.CompletionItem(
        label=label,
        kind=kind,
        detail=detail or None,
        documentation=doc or None,
        sort_text=f"{order}{label}",
    )
    if snippet:
        item.insert_text = snippet
        item.insert_text_format = types.InsertTextFormat.Snippet
    return item


def word_at(text: str, offset: int) -> Span:
    """Return the word around an offset, empty where there is none."""
    before, after = _WORD.match(text[:offset][::-1]), _WORD.match(text, offset)
    assert before
    assert after
    return Span(offset - before.end(), after.end())

"""Screen files of torch: reading and running them must run torch's code alone.

*torch.export.* `torch.export.load` unpickles example inputs and constants, evaluates the expressions of
shapes and guards, looks up operators by dotted names that may lead anywhere from `torch`,
and writes names into Python code. So what a model does not need is taken out, and all
the rest must be on a list of what is harmless; a file with more than that needs trust.

*TorchScript* may compute, and reach nothing but tensors. It is a language of its own. Neither its code nor the pickles of its files, which
torch reads with a reader of its own, can name anything of Python. What they can name are
operators and classes that libraries registered, and among torch's own operators there are
two that take the name of a file. All names are written out: an operator cannot be called
unless its name stands in the code. So the code is read word by word, and a file needs
trust if one of these two words is among them, a namespace of others, or anything that
torch does not write itself and that could hide a word.
"""

import ast
import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from nomos.models.extras import distrust
from nomos.models.recognise import load_members

_KEPT = re.compile(
    r"archive_format|archive_version|byteorder|version|\.data/(version|serialization_id)"
    r"|models/model\.json|data/sample_inputs/model\.pt"
    r"|data/(weights|constants)/(model_(weights|constants)_config\.json"
    r"|weight_\d+|tensor_\d+)"
)
_ARITHMETIC = "add|sub|mul|truediv|floordiv|mod|pow|neg|pos|abs|and_|or_|not_|getitem"
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims)\.(?!from_file\b|save\b)\w+(\.\w+)?"
    r"|torch\.ops\.higher_order\.(cond|wrap_with_set_grad_enabled|wrap_with_autocast)"
    rf"|_operator\.({_ARITHMETIC}|eq|ne|lt|le|gt|ge)"
    r"|math\.(ceil|floor|trunc|sqrt|log2)"
    r"|torch\.sym_(int|float|max|min|not|sum|ite)|torch\._sym_sqrt",
    re.ASCII,
)
_NAME = re.compile(r"[\w.+-]*", re.ASCII)
_SHAPE_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        """
        Symbol Integer Rational Float Add Mul Pow Mod Max Min Abs And Or Not Eq Ne Lt Le
        Gt Ge Equality Unequality StrictLessThan StrictGreaterThan LessThan GreaterThan
        floor ceiling FloorDiv CeilDiv CleanDiv IntTrueDiv FloatTrueDiv PythonMod
        ModularIndexing PowByNatural TruncToInt FloorToInt CeilToInt RoundToInt ToFloat
        Where Identity
        """,
    )
)
_SHAPE_NODES = (
    ast.Expression | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Name | ast.Load
    | ast.operator | ast.unaryop | ast.cmpop | ast.keyword | ast.Constant | ast.Call
)  # fmt: skip
_TREES = {None, "builtins.tuple", "builtins.list", "builtins.dict"}


def screen_export(path: Path) -> io.BytesIO:
    """Return a torch.export file without what is not needed; refuse what may run code."""
    kept = {}
    for name, data in load_members(path).items():
        top, *rest = PurePosixPath(name).parts
        inner = "/".join(rest)
        if not _KEPT.fullmatch(inner):
            raise distrust(path, f"holds {inner or top}, which may run code")
        if inner.endswith("sample_inputs/model.pt"):
            data = b""  # a pickle that a model does not need
        elif inner.endswith(".json"):
            data = _screen_json(path, inner, data)
        kept[name] = data
    return pack(kept)


def pack(members: dict[str, bytes]) -> io.BytesIO:
    """Pack again: what is then read is what was screened, whoever reads zip files how."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    packed.seek(0)
    return packed


def _screen_json(path: Path, member: str, data: bytes) -> bytes:
    try:
        content = json.loads(data)
        _screen(content, "")
    except (ValueError, RecursionError, SyntaxError) as error:
        raise distrust(path, f"has something unusual in {member}: {error}") from error
    return json.dumps(content).encode()


def _screen(content: Any, key: str) -> None:
    """Empty what is not needed, in place, and refuse what is not known as harmless."""
    if isinstance(content, dict):
        for name in content:
            _check_text(name, "expr_str" if key == "range_constraints" else "name")
            if name == "metadata":
                content[name] = {}
            elif name == "guards_code":
                content[name] = []
            elif name == "use_pickle" and content[name] is not False:
                raise ValueError("a pickle")
            elif name == "treespec_namedtuple_fields" and content[name]:
                raise ValueError("named tuples")
            else:
                _screen(content[name], name)
    elif isinstance(content, list):
        for item in content:
            _screen(item, key)
    elif isinstance(content, str):
        _check_text(content, key)


def _check_text(text: str, key: str) -> None:
    """Refuse a text that could be run; `as_string` is only ever data."""
    if key == "expr_str":
        _check_shape(text)
    elif key in ("in_spec", "out_spec"):
        _check_tree(json.loads(text)[1])
    elif key in ("target", "as_operator"):
        if not _OPERATOR.fullmatch(text):
            raise ValueError(f"the operator {text[:80]!r}")
    elif key != "as_string" and not _NAME.fullmatch(text):
        raise ValueError(f"the name {text[:80]!r}")


def _check_shape(text: str) -> None:
    """Refuse an expression that is more than arithmetic on symbols."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        harmless = isinstance(node, _SHAPE_NODES)
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            harmless = name in _SHAPE_FUNCTIONS
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            harmless = node.value.isidentifier()
        if not harmless:
            raise ValueError(f"the expression {text[:80]!r}")


def _check_tree(tree: Any) -> None:
    """Refuse answers in anything but tuples, lists and dicts: other types are imported."""
    if tree["type"] not in _TREES:
        raise ValueError(f"the type {str(tree['type'])[:80]!r}")
    for child in tree["children_spec"]:
        _check_tree(child)


_REACHES_FILES = {"save", "from_file"}
_OPERATORS = {"aten", "prim", "quantized"}
_CLASSES = ["torch", "classes", "quantized"]  # packed weights of torch's own
_WORD = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|[A-Za-z_]\w*|\S', re.ASCII)
_HIDING = {"'", '"', "#", "\\"}  # torch writes all strings in double quotes
_PICKLED_CLASS = re.compile(rb"torch\.classes\.(?!quantized\b)(\w+)")


def screen_script(path: Path) -> io.BytesIO:
    """Return a TorchScript file; refuse one that reaches for more than tensors."""
    members = load_members(path)
    for name, data in members.items():
        if name.endswith(".py"):
            code = data.decode("utf-8", "replace")
            problem = next(_problems(_WORD.findall(code)), None)
            if problem is not None:
                raise distrust(path, problem)
        elif foreign := _PICKLED_CLASS.search(data):
            raise distrust(path, f"holds a class of `{foreign[1].decode()}`")
    return pack(members)


def _problems(words: Sequence[str]) -> Iterator[str]:
    """Yield why code may reach more than tensors."""
    for at, word in enumerate(words):
        following = words[at + 1 : at + 3]
        # As the name of an attribute, used or declared, a word means nothing more.
        is_attribute = words[max(at - 1, 0)] == "." or following[:1] == [":"]
        if word in _REACHES_FILES:
            yield f"uses {word!r}, which may reach files"
        elif word in _HIDING or (word[0] == '"' and "".join(following)[:1] == '"'):
            yield f"has {word[:20]!r} in its code, which torch does not write"
        elif word == "getattr" and not is_attribute:
            yield from _attribute_problems(words[at + 1 :])
        elif word == "ops" and not is_attribute:
            if following[:1] != ["."] or _OPERATORS.isdisjoint(following):
                yield f"uses operators of others: `ops{''.join(following)}`"
        elif word == "__torch__":
            yield from _class_problems(words[at + 1 :])


def _attribute_problems(words: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the rest of `getattr(value, "name")`.

    Torch writes it for names that are no words: the layers of a Sequential are "0", "1".
    """
    depth = 0
    for at, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth < 1:
            break
        if depth == 1 and word[0] == '"':
            plain = "\\" not in word and word[1:-1] not in _REACHES_FILES
            if plain and words[at + 1 : at + 2] == [")"]:
                return
            break
    yield "uses a `getattr` that torch does not write"


def _class_problems(words: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the names that follow `__torch__`."""
    names = []
    for dot, name in zip(words[::2], words[1::2], strict=False):
        if dot != ".":
            break
        names.append(name)
    is_own = names[:1] != ["torch"] or (len(names) > 1 and names[1] != "classes")
    if not names or not (is_own or (names[:3] == _CLASSES and len(names) > 3)):
        yield f"uses classes of `{'.'.join(['__torch__', *names])}`"

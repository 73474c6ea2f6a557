"""Screen TorchScript files: their code may compute, and reach nothing but tensors.

TorchScript is a language of its own. Neither its code nor the pickles of its files, which
torch reads with a reader of its own, can name anything of Python. What they can name are
operators and classes that libraries registered, and among torch's own operators there are
two that take the name of a file. All names are written out: an operator cannot be called
unless its name stands in the code. So the code is read word by word, and a file needs
trust if one of these two words is among them, a namespace of others, or anything that
torch does not write itself and that could hide a word.
"""

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nomos.models.extras import distrust
from nomos.models.recognise import load_members
from nomos.models.screening.torch_archive import pack

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

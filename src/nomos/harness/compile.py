"""Write a spec as a readable Python program that tests a model by itself.

The program has the shape of the paper's figure: a loop that spends the budget, and in
it the test generator, the precondition, the code, and the oracle.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping

from nomos.harness.emit import Emitter
from nomos.harness.space import draws_late
from nomos.lang import core
from nomos.lang.types import BUILT_IN, Function

_OURS = ("case", "harness")  # what the program itself defines
# At hand in Python, unless the spec took the name or the domain has its own.
_PYTHONS = frozenset(
    ("locals", "bool", "range", "all", "any", "abs", "min", "max", "len", "round")
)
_COMMENT = re.compile(r"^( *)(['\"])(# [a-z ]+)\2$", re.MULTILINE)

_DEEPEST = 10_000  # calls; the longest sum that is let through needs half of them
_PARAGRAPH = re.compile(r"\n(harness_* = |while |harness_*\.report)")


def compile_harness(spec: core.Spec, path: str, offered: Mapping[str, Function]) -> str:
    """Return the program; `path` is the spec's, as seen from the program's folder.

    `offered` are the domain's functions. Where one that draws is called in the block or
    later, the cases there are cannot be listed.
    """
    emitter = Emitter(spec)
    body = emitter.case()
    known = {**BUILT_IN, **offered}
    functions = _functions(spec, emitter, known)
    listable = not draws_late(spec, lambda name: name in known and known[name].draws)
    lets = (*spec.variables, *spec.later_variables)
    values = (*spec.inputs, *(let.name for let in lets), *spec.outputs)
    harness = emitter.own("harness")
    module = ast.parse(_FRAME.format(harness=harness))
    opening = module.body[1]
    assert isinstance(opening, ast.Assign)
    opening.value = ast.Call(
        ast.Name("Harness"),
        [_constant(path), ast.Name("__file__")],
        [
            ast.keyword("imports", _constant(spec.imports)),
            ast.keyword("inputs", _constant(spec.inputs)),
            ast.keyword("values", _constant(values)),
            ast.keyword("listable", _constant(listable)),
        ],
    )
    naming = module.body[2]
    assert isinstance(naming, ast.Assign)
    naming.targets = [ast.Tuple([ast.Name(alias, ast.Store()) for alias in functions])]
    naming.value = ast.Call(
        ast.Attribute(ast.Name(harness), "functions"),
        [_constant(name) for name in functions.values()],
        [],
    )
    if not functions:
        module.body.remove(naming)
    loop = module.body[-2]
    assert isinstance(loop, ast.While)
    attempt = loop.body[0]
    assert isinstance(attempt, ast.With)
    attempt.items[0].optional_vars = ast.Name(emitter.own("case"), ast.Store())
    attempt.body = body
    ast.fix_missing_locations(module)
    text = _COMMENT.sub(r"\n\1\3", _unparse(module))
    text = _PARAGRAPH.sub(r"\n\n\1", text)
    return f"{_docstring(spec)}{text}\n"


_FRAME = """
from nomos.campaign.standalone import Harness
{harness} = Harness()
functions = {harness}.functions()
while {harness}.budget > 0:
    with {harness}.case() as case:
        pass
{harness}.report()
"""


def _unparse(module: ast.Module) -> str:
    """Return a module's text; a long sum is deep, and this goes down by recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        return ast.unparse(module)
    finally:
        sys.setrecursionlimit(limit)


def _constant(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _functions(
    spec: core.Spec, emitter: Emitter, known: Mapping[str, Function]
) -> dict[str, str]:
    """Return the functions that the program uses: what it calls them, and their names."""
    used = {
        alias: name
        for alias, name in emitter.aliases.items()
        if name not in _OURS
        and (name not in _PYTHONS or alias != name or _is_domains(name, known))
    }
    used |= {
        name: name
        for name in spec.code.called
        if name in known and (name not in _PYTHONS or _is_domains(name, known))
    }
    mentioned = {
        node.id
        for statement in spec.code.statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    used |= {name: name for name in (*spec.imports, "MAX_INT") if name in mentioned}
    return dict(sorted(used.items()))


def _is_domains(name: str, known: Mapping[str, Function]) -> bool:
    return name in known and known[name] is not BUILT_IN.get(name)


def _docstring(spec: core.Spec) -> str:
    about = f"Harness of the property {spec.name}, compiled by Nomos."
    if spec.description:
        about += f"\n\n{spec.description}"
    about = about.replace("\\", "\\\\").replace('"""', "'''")
    usage = "    python THIS_FILE --seed 0 --budget 5000 --model MODEL"
    return f'"""{about}\n\n{usage}\n"""\n\n'

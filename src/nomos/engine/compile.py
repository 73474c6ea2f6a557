"""Write a spec as a readable Python program that tests a model by itself.

One case is a function with the parts of the paper's figure: the test generator, the
precondition, the code, and the oracle. The loop around it is the usual driver's.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping

from nomos.engine.emit import Emitter, names_mentioned
from nomos.engine.space import draws_late
from nomos.lang import core
from nomos.lang.checking.names import names_bound_by
from nomos.lang.types import BUILT_IN, Function

# The first statement of a function is written as its docstring is.
_COMMENT = re.compile(r"^( *)(\"\"\"|['\"])(# [a-z ]+)\2$", re.MULTILINE)

_DEEPEST = 10_000  # calls; the longest sum that is let through needs half of them
_PARAGRAPH = re.compile(r"\n(harness_* = |def run_case|harness_*\.run\()")


def compile_harness(spec: core.Spec, path: str, offered: Mapping[str, Function]) -> str:
    """Return the program; `path` is the spec's, as seen from the program's folder.

    `offered` are the domain's functions. Where one that draws is called in the block or
    later, the cases there are cannot be listed.
    """
    emitter = Emitter(spec, offered)
    body = emitter.body()
    known = {**BUILT_IN, **offered}
    functions = _functions(spec, emitter, known)
    listable = not draws_late(spec, lambda name: name in known and known[name].draws)
    lets = (*spec.variables, *spec.later_variables)
    values = (*spec.inputs, *(let.name for let in lets), *spec.outputs)
    harness, function = emitter.fresh_name("harness"), emitter.fresh_name("run_case")
    told = {
        "imports": spec.imports,
        "inputs": spec.inputs,
        "values": values,
        "ensures": tuple(ensures.text for ensures in spec.ensures),
        "listable": listable,
    }
    frame = _FRAME.format(
        harness=harness,
        function=function,
        case=emitter.case,
        path=repr(path),
        told=", ".join(f"{name}={value!r}" for name, value in told.items()),
        aliases="".join(f"{alias}, " for alias in functions),
        names=", ".join(map(repr, functions.values())),
    )
    module = ast.parse(frame)
    if not functions:
        del module.body[2]
    definition = module.body[-2]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = body
    ast.fix_missing_locations(module)
    text = _COMMENT.sub(r"\n\1\3", _unparse(module))
    text = _PARAGRAPH.sub(r"\n\n\1", text)
    return f"{_docstring(spec)}{text}\n"


_FRAME = """
from nomos.runner.standalone import Harness
{harness} = Harness({path}, __file__, {told})
({aliases}) = {harness}.functions({names})
def {function}({case}):
    pass
{harness}.run({function})
"""


def _unparse(module: ast.Module) -> str:
    """Return a module's text; a long sum is deep, and this goes down by recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        return ast.unparse(module)
    finally:
        sys.setrecursionlimit(limit)


def _functions(
    spec: core.Spec, emitter: Emitter, known: Mapping[str, Function]
) -> dict[str, str]:
    """Return the functions that the program uses: what it calls them, and their names."""
    used = {alias: name for name, alias in emitter.aliases.items()}
    names = names_mentioned(spec) - names_bound_by(spec.code.statements)
    used |= {n: n for n in (*known, *spec.imports, "MAX_INT") if n in names}
    return dict(sorted(used.items()))


def _docstring(spec: core.Spec) -> str:
    about = f"Harness of the property {spec.name}, compiled by Nomos."
    if spec.description:
        about += f"\n\n{spec.description}"
    about = about.replace("\\", "\\\\").replace('"""', "'''")
    usage = "    python THIS_FILE --seed 0 --budget 5000 --model MODEL"
    return f'"""{about}\n\n{usage}\n"""\n\n'

"""Which functions of a spec are random models, and whether chance can be told for it.

What is drawn in a `var` is part of the case, as noise that is added to an input is. What the
block alone draws is a sample of a model.
"""

import ast
from dataclasses import dataclass

from nomos.lang import core

_LOOPS = (
    *(ast.For, ast.While, ast.FunctionDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp),
)


@dataclass(frozen=True, slots=True)
class Resampling:
    """New samples of random models for the same case: the `number`-th.

    Where it is the control, each call of a model asks what its first call asked. A case
    that would have asked nothing else has no control: that run of it is `unchanged`.
    """

    number: int
    is_control: bool = False


def functions_of_conditions(spec: core.Spec) -> frozenset[str]:
    """Return the functions that are called outside the block."""
    return frozenset(n.function for n in spec.nodes if isinstance(n, core.Call))


def asks_for_several(spec: core.Spec, names: frozenset[str]) -> bool:
    """Tell whether the block can call one of these functions with other arguments.

    It can where two calls differ in how their arguments are written, or where they name
    what the block binds and may run twice: there are several, or a loop is around them.
    """
    nodes = list(ast.walk(ast.Module(list(spec.code.statements), [])))
    names_bound = (n for n in nodes if isinstance(n, ast.Name))
    bound = {n.id for n in names_bound if isinstance(n.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    loops = (node for node in nodes if isinstance(node, _LOOPS))
    looped = {id(inner) for loop in loops for inner in ast.walk(loop)}
    for name in names:
        calls = [n for n in nodes if isinstance(n, ast.Call) and _calls(n, name)]
        written = {ast.dump(ast.Tuple([*c.args, *c.keywords])) for c in calls}  # type: ignore[list-item]  # only to be compared
        inside = {n.id for c in calls for n in ast.walk(c) if isinstance(n, ast.Name)}
        is_repeated = len(calls) > 1 or any(id(call) in looped for call in calls)
        if len(written) > 1 or (is_repeated and inside & bound):
            return True
    return False


def _calls(node: ast.Call, name: str) -> bool:
    function = node.func
    return name == getattr(function, "id", getattr(function, "attr", ""))

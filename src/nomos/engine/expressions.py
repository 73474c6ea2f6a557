"""From the core to functions of Python: what one case is run with, one step at a time.

An expression becomes a function of a dictionary: what the names of a case are. Names that
have a meaning only inside (indices, parameters) are put into it as they come; no two of
them that hold at the same time are called the same. So nothing of the spec's own can stand
in front of the operators of the language. The block becomes a function whose lines are
those of the spec, so that tracebacks point there.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from nomos.diagnostics.source import Source, Span
from nomos.engine.choices import NoSuchNumber
from nomos.engine.meaning import operators, vectors
from nomos.lang import core
from nomos.lang.types import NUMBERS, Type

Names = dict[str, Any]
Evaluate = Callable[[Names], Any]
_NUMERIC = NUMBERS | {Type.BOOL, Type.DATE}
_PLAINLY_EQUAL = frozenset({Type.INT, Type.BOOL, Type.STRING})
_LONGEST_SUM = 50  # operators that are written as such; a longer chain is a call
_LONGEST_TEXT = 300  # characters of a part of an expression
_FOLDS = {"forall": "all", "exists": "any", "count": "count_true", "sum": "add_up"}


def draw_number(draw: Callable[..., Any], low: Any, high: Any, said: str) -> Any:
    """Draw a number; where there is none, say what the spec says."""
    try:
        return draw(low, high)
    except NoSuchNumber:
        raise NoSuchNumber(said) from None


def bind_parameters(
    names: Names, parameters: Sequence[str], values: list[Any], body: Callable[[], Any]
) -> Any:
    """Return what a body is where parameters have these values."""
    names.update(zip(parameters, values, strict=True))
    return body()


# What the text of an expression is about, beside the functions that a spec may call.
_MEANING: Names = {
    **vars(vectors),
    **vars(operators),
    "inf": math.inf,
    "draw": draw_number,
    "bind": bind_parameters,
    "mean": operators.average,
    "min": operators.BUILT_INS["min"],
    "max": operators.BUILT_INS["max"],
}


class Expressions:
    """Makes functions of expressions; `functions` are what a spec may call, by name."""

    def __init__(self, spec: core.Spec, functions: Mapping[str, Any]) -> None:
        self.spec = spec
        self._known = _MEANING | {f"own_{n}": own for n, own in functions.items()}
        if functions["sum"] is sum:  # Python's is the block's
            self._known["own_sum"] = operators.add_up

    def compile(self, expr: core.Expr) -> Evaluate:
        """Return an expression as a function."""
        return self._compile_text(self._write(expr))

    def _compile_text(self, text: str) -> Evaluate:
        code = compile(f"lambda names: {text}", __file__, "eval")
        made: Evaluate = eval(code, self._known)
        return made

    def _write(self, expr: core.Expr) -> str:
        """Return an expression as Python; total, because the checker has accepted it."""
        parts = [] if isinstance(expr, core.Arithmetic) else self._write_parts(expr)
        listed = ", ".join(parts)
        match expr:
            case core.Constant(value=value):
                return repr(value)
            case core.Variable(name=name):
                return self._write_name(name)
            case core.GetFeature():
                return f"own_getFeat({listed})"
            case core.SetFeature():
                return f"own_setFeat({listed})"
            case core.Label(input=name):
                item = self._write_name(name)
                return f"own_label({f'item_at({item}, {listed})' if parts else item})"
            case core.RandInt() | core.RandReal():
                name = "randInt" if isinstance(expr, core.RandInt) else "randReal"
                said = source_text(self.spec.source, expr.span)
                return f"draw(own_{name}, {listed}, {said!r})"
            case core.Call(function=name):
                return f"own_{name}({listed})"
            case core.Not():
                return f"(not {listed})"
            case core.Negate(operand=operand):
                return (
                    f"(-{listed})" if operand.type in NUMBERS else f"negate({listed})"
                )
            case core.Arithmetic():
                return self._write_arithmetic(expr)
            case core.Compare():
                return _write_comparison(expr, *parts)
            case core.Contains():
                return f"contains({parts[1]}, {parts[0]})"
            case core.Logic(operator=sign):
                left, right = map(_write_truth, (expr.left, expr.right), parts)
                word = "and" if sign == "&&" else "or"
                return f"({'not ' * (sign == '==>')}{left} {word} {right})"
            case core.Conditional():
                test, yes, no = parts
                return f"({yes} if {test} else {no})"
            case core.Index():
                return f"item_at({listed})"
            case core.Comprehension(item=item, members=members):
                over, body = parts
                over = over if members else f"list_items({over})"
                return f"[{body} for names[{item!r}] in {over}]"
            case core.Quantifier():
                return _write_quantifier(expr, *parts)
            case core.Apply(parameters=parameters):
                *given, body = parts
                return (
                    f"bind(names, {parameters}, [{', '.join(given)}], lambda: {body})"
                )
            case _:
                assert_never(expr)

    def _write_parts(self, expr: core.Expr) -> list[str]:
        return [self._set_apart(self._write(part)) for part in core.children(expr)]

    def _set_apart(self, text: str) -> str:
        """Make a long text a function of its own: Python takes 200 brackets in brackets."""
        if len(text) < _LONGEST_TEXT:
            return text
        name = f"part{len(self._known)}"
        self._known[name] = self._compile_text(text)
        return f"{name}(names)"

    def _write_name(self, name: str) -> str:
        base, is_item, place = name.partition("[")
        if not is_item or name in self.spec.inputs:
            return f"names[{name!r}]"
        return f"names[{base!r}][{place}"

    def _write_arithmetic(self, expr: core.Arithmetic) -> str:
        """Write a chain from its left end, so that its length costs no stack."""
        spine = core.arithmetic_chain(expr)[::-1]
        operands = [spine[0].left, *(node.right for node in spine)]
        first, *others = (self._set_apart(self._write(one)) for one in operands)
        is_power = any(node.operator == "**" for node in spine)
        is_plain = {one.type for one in operands} <= _NUMERIC and not is_power
        if not is_plain or len(spine) > _LONGEST_SUM:
            signs = " ".join(node.operator for node in spine)
            return f"calculate({signs!r}, {', '.join([first, *others])})"
        for node, right in zip(spine, others, strict=True):
            first = f"({first} {node.operator} {right})"
        return first


def _write_quantifier(expr: core.Quantifier, *parts: str) -> str:
    """Write a loop over indices, whose names keep those at which it ended."""
    *given, body = parts
    over = str(expr.size) if expr.over is None else given.pop(0)
    wanted = f" if {given[0]}" if given else ""
    targets = ", ".join(f"names[{name!r}]" for name in expr.indices)
    loop = f"list_indices({over}, {len(expr.indices)}, {expr.is_ordered})"
    return f"{_FOLDS.get(expr.word, expr.word)}({body} for {targets} in {loop}{wanted})"


def _write_comparison(expr: core.Compare, left: str, right: str) -> str:
    if expr.levels:
        return f"compare_names({expr.operator!r}, {expr.levels}, {left}, {right})"
    if expr.operator == "!=":
        return f"differ({left}, {right})"
    if expr.operator == "==" and not compares_plainly(expr):
        return f"equal({left}, {right})"
    return f"({left} {expr.operator} {right})"


def _write_truth(expr: core.Expr, written: str) -> str:
    """Return an operand of logic as a truth value, whatever a function returns."""
    is_truth = isinstance(expr, core.Compare | core.Logic | core.Not) or (
        isinstance(expr, core.Quantifier) and expr.word in ("forall", "exists")
    )
    return written if is_truth else f"bool({written})"


def compares_plainly(expr: core.Compare) -> bool:
    """Tell whether Python's own `==` compares by value here; else `equal` does."""
    types = {expr.left.type, expr.right.type}
    return expr.operator == "==" and types <= _PLAINLY_EQUAL


def source_text(source: Source, span: Span) -> str:
    """Return what a source says at a place, on one line."""
    return " ".join(source.slice(span).split())


def compile_block(
    spec: core.Spec, names: dict[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return the block as a function of the inputs and the vars, which gives the outputs.

    `names` are global to it; an item of a list comes by its own name, such as `xs[0]`.
    """

    def use(name: str) -> ast.Name:
        return ast.Name(name, ast.Load())

    outputs = ast.Return(ast.Tuple(list(map(use, spec.outputs)), ast.Load()))
    statements = list(spec.code.statements)
    if statements:  # an output that is missing is missing at the end of the block
        ast.copy_location(outputs, statements[-1])
    lists: list[ast.stmt] = [
        ast.Assign(
            [ast.Name(name, ast.Store())], ast.List([*map(use, items)], ast.Load())
        )
        for name, items in spec.lists.items()
    ]
    module = ast.parse("def case(): pass")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    parameters = [*spec.inputs, *(let.name for let in spec.variables)]
    own = [ast.arg(name) for name in parameters]
    function.args = ast.arguments([], own, None, [], [], None, [])
    function.body = [*lists, *statements, outputs]
    defined: dict[str, Callable[..., Any]] = {}
    file = spec.source.name
    exec(compile(ast.fix_missing_locations(module), file, "exec"), names, defined)
    return defined["case"]

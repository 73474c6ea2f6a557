"""What a block of Python does, whatever path it takes.

Which names it has assigned when it ends; and static k: how many model invocations it
makes, where that is plain to see.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from nomos.lang import core
from nomos.lang.checking.names import names_bound_by

# The names assigned for sure at a point; None where no path arrives.
_State = frozenset[str] | None
# Of a function expression: how many calls of a model its call is; None: it depends.
CallsOf = Callable[[ast.expr], int | None]
# Functions of Python that take all that a generator has to give.
_CONSUMERS = {
    "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple",
}  # fmt: skip
_AS_LONG = ("enumerate", "reversed", "list", "sorted")  # as what they are given
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_RUN_ANY_NUMBER_OF_TIMES = _FUNCTIONS | ast.While | ast.ClassDef | ast.GeneratorExp


def always_assigned(statements: Iterable[ast.stmt]) -> frozenset[str] | None:
    """Return the names assigned on every path, None if no path ends normally."""
    return _Flow().run_statements(statements, frozenset())


def _join_states(*states: _State) -> _State:
    arriving = [state for state in states if state is not None]
    return frozenset.intersection(*arriving) if arriving else None


def _surely_bound(*nodes: ast.AST) -> frozenset[str]:
    """Return the names bound whenever these nodes are evaluated."""
    names: frozenset[str] = frozenset()
    for node in nodes:
        match node:
            case ast.BoolOp(values=[first, *_]):
                names |= _surely_bound(first)
            case ast.IfExp(test=test, body=yes, orelse=no):
                names |= _surely_bound(test) | (_surely_bound(yes) & _surely_bound(no))
            case ast.Compare(left=left, comparators=[first, *_]):
                names |= _surely_bound(left, first)  # the others only if it holds
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                names |= _surely_bound(node.generators[0].iter)
            case ast.expr() if not isinstance(node, ast.Name | ast.Lambda):
                names |= _surely_bound(*ast.iter_child_nodes(node))
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.Assert():
                names |= _surely_bound(*ast.iter_child_nodes(node))
            case _:
                names |= names_bound_by([node])
    return names


@dataclass(slots=True)
class _Loop:
    breaks: list[_State] = field(default_factory=list)
    continues: list[_State] = field(default_factory=list)


@dataclass(slots=True)
class _Flow:
    loops: list[_Loop] = field(default_factory=list)

    def run_statements(self, statements: Iterable[ast.stmt], state: _State) -> _State:
        for statement in statements:
            if state is None:
                return None
            state = self._run_statement(statement, state)
        return state

    def _run_statement(self, statement: ast.stmt, state: frozenset[str]) -> _State:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                state |= _surely_bound(test)
                return _join_states(
                    self.run_statements(body, state), self.run_statements(orelse, state)
                )
            case ast.For():
                return self._run_for(statement, state)
            case ast.While():
                return self._run_while(statement, state)
            case ast.Try() | ast.TryStar():
                return self._run_try(statement, state)
            case ast.With(items=items, body=body):
                return self.run_statements(body, state | names_bound_by(items))
            case ast.Match(subject=subject, cases=cases):
                return self._run_match(cases, state | _surely_bound(subject))
            case ast.Raise():
                return None
            case ast.Break():
                self.loops[-1].breaks.append(state)  # it compiles, so there is one
                return None
            case ast.Continue():
                self.loops[-1].continues.append(state)
                return None
            case ast.Delete():
                return state - names_bound_by([statement])
            case ast.AugAssign(value=value):
                return state | _surely_bound(value)  # the target has a value already
            case ast.AnnAssign(value=None):
                return state
            case _:
                return state | _surely_bound(statement)

    def _run_loop_body(
        self, body: list[ast.stmt], state: frozenset[str]
    ) -> tuple[_State, _Loop]:
        self.loops.append(_Loop())
        after = self.run_statements(body, state)
        loop = self.loops.pop()
        return _join_states(after, *loop.continues), loop

    def _run_for(self, loop: ast.For, state: frozenset[str]) -> _State:
        before = state | _surely_bound(loop.iter)
        bound = before | names_bound_by([loop.target])
        after, jumps = self._run_loop_body(loop.body, bound)
        if not count_repetitions(loop.iter, {}):
            after = _join_states(before, after)
        return _join_states(self.run_statements(loop.orelse, after), *jumps.breaks)

    def _run_while(self, loop: ast.While, state: frozenset[str]) -> _State:
        before = state | _surely_bound(loop.test)
        after, jumps = self._run_loop_body(loop.body, before)
        forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        after = None if forever else _join_states(before, after)
        return _join_states(self.run_statements(loop.orelse, after), *jumps.breaks)

    def _run_try(self, block: ast.Try | ast.TryStar, state: frozenset[str]) -> _State:
        tried = self.run_statements(block.body, state)
        tried = self.run_statements(block.orelse, tried)
        inside = ast.walk(ast.Module(block.body, []))
        deleted = names_bound_by(n for n in inside if isinstance(n, ast.Delete))
        ends = [tried]
        for handler in block.handlers:
            handled = self.run_statements(handler.body, state - deleted)
            # Python deletes the handler's name when it is left.
            ends.append(None if handled is None else handled - {handler.name or ""})
        joined = _join_states(*ends)
        last = self.run_statements(
            block.finalbody, state - deleted if joined is None else joined
        )
        return None if joined is None else last

    def _run_match(self, cases: list[ast.match_case], state: frozenset[str]) -> _State:
        ends = [
            self.run_statements(c.body, state | names_bound_by([c.pattern]))
            for c in cases
        ]
        last = cases[-1]
        irrefutable = (
            isinstance(last.pattern, ast.MatchAs)
            and last.pattern.pattern is None
            and last.guard is None
        )
        return _join_states(*ends, *([] if irrefutable else [state]))


def count_repetitions(iterable: ast.expr, sizes: Mapping[str, int]) -> int | None:
    """Return how often a loop over this runs, None where that is not plain to see.

    `sizes` are those of the lists of inputs.
    """
    match iterable:
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _AS_LONG:
            return count_repetitions(inner, sizes)
        case ast.Call(
            func=ast.Name(id="range"),
            args=[ast.Call(func=ast.Name(id="len"), args=[inner])],
        ):
            return count_repetitions(inner, sizes)
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            return _length_of_range(args)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            starred = any(isinstance(item, ast.Starred) for item in items)
            return None if starred else len(items)
        case _:
            return None


def _length_of_range(arguments: list[ast.expr]) -> int | None:
    try:
        return len(range(*map(ast.literal_eval, arguments)))
    except (ValueError, TypeError, OverflowError):
        return None


class _Depends(Exception):
    """The number depends on the run."""


def count_invocations(
    statements: Iterable[ast.stmt], calls_of: CallsOf, sizes: Mapping[str, int]
) -> int | None:
    """Count the calls of models, or return None where it depends on the run.

    `sizes` are those of the lists of inputs.
    """
    try:
        return sum(_count_calls(statement, calls_of, sizes) for statement in statements)
    except _Depends:
        return None


def _count_calls(node: ast.AST, calls_of: CallsOf, sizes: Mapping[str, int]) -> int:
    def count_inside(nodes: Iterable[ast.AST]) -> int:
        return sum(_count_calls(child, calls_of, sizes) for child in nodes)

    match node:
        case ast.For(iter=iterable, body=body, orelse=orelse):
            times = _multiply_count(count_inside(body), iterable, body, sizes)
            return times + count_inside([iterable, *orelse])
        case ast.If(test=test, body=yes, orelse=no):
            counts = count_inside(yes), count_inside(no)
            return count_inside([test]) + _require_same_count(*counts)
        case ast.IfExp(test=test, body=one, orelse=other):
            counts = count_inside([one]), count_inside([other])
            return count_inside([test]) + _require_same_count(*counts)
        case ast.BoolOp(values=[first, *rest]):
            return count_inside([first]) + _require_same_count(count_inside(rest), 0)
        case ast.Compare(left=left, comparators=[first, *rest]):
            once = count_inside([left, first])
            return once + _require_same_count(count_inside(rest), 0)
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return _count_comprehension(node, count_inside, sizes)
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as given]) if (
            name in _CONSUMERS
        ):
            return _count_comprehension(given, count_inside, sizes)
        case ast.Match(cases=cases, subject=subject):
            guards = count_inside(case.guard for case in cases if case.guard)
            bodies = [count_inside(case.body) for case in cases]
            return count_inside([subject]) + _require_same_count(*bodies, guards, 0)
        case ast.Try() | ast.TryStar():
            _require_same_count(count_inside(node.handlers), 0)
            return count_inside([*node.body, *node.orelse, *node.finalbody])
        case ast.Call(func=function):
            calls = calls_of(function)
            if calls is None:
                raise _Depends
            return calls + count_inside(ast.iter_child_nodes(node))
        case _ if isinstance(node, _RUN_ANY_NUMBER_OF_TIMES):
            return _require_same_count(count_inside(ast.iter_child_nodes(node)), 0)
        case _:
            return count_inside(ast.iter_child_nodes(node))


def _require_same_count(*counts: int) -> int:
    if len(set(counts)) > 1:
        raise _Depends
    return counts[0]


def _multiply_count(
    count: int, iterable: ast.expr, body: list[ast.stmt], sizes: Mapping[str, int]
) -> int:
    if count == 0:
        return 0
    times = count_repetitions(iterable, sizes)
    leaves = any(
        isinstance(node, ast.Break | ast.Continue | ast.Raise)
        for statement in body
        for node in ast.walk(statement)
    )
    if times is None or leaves:
        raise _Depends
    return times * count


def _count_comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    inside: Callable[[Iterable[ast.AST]], int],
    sizes: Mapping[str, int],
) -> int:
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    count = inside(parts)
    for generator in reversed(node.generators):
        count += _require_same_count(inside(generator.ifs), 0)
        if generator.ifs:
            _require_same_count(count, 0)
        count = _multiply_count(count, generator.iter, [], sizes)
        count += inside([generator.iter])
    return count


def safety_kind(k: int | None) -> str:
    """Return what kind of property a number of model invocations makes."""
    return "k depends on the run" if k is None else f"{k}-safety"


class ParamValues(ast.NodeTransformer):
    """Puts the values of params in the place of their names."""

    def __init__(
        self, params: Mapping[str, core.Param], outside: Mapping[int, ast.Name]
    ) -> None:
        self.params = params
        self.outside = outside

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value of a param, or the name of something else."""
        param = self.params.get(node.id)
        if param is None or id(node) not in self.outside:
            return node
        return ast.copy_location(ast.Constant(param.value), node)

"""What a block of Python does, whatever path it takes.

Which names it has assigned when it ends; and static k: how many model invocations it
makes, where that is plain to see.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from nomos.lang.checking.names import bound_names

# The names assigned for sure at a point; None where no path arrives.
_State = frozenset[str] | None
# Of a function expression: how many calls of a model its call is; None: it depends.
CallsOf = Callable[[ast.expr], int | None]
# Functions of Python that take all that a generator has to give.
_CONSUMERS = {
    "dict",
    "frozenset",
    "list",
    "max",
    "min",
    "set",
    "sorted",
    "sum",
    "tuple",
}
_RUN_ANY_NUMBER_OF_TIMES = (
    ast.While,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.GeneratorExp,
)


def always_assigned(statements: Iterable[ast.stmt]) -> frozenset[str] | None:
    """Return the names assigned on every path, None if no path ends normally."""
    return _Flow().run(statements, frozenset())


def _join(*states: _State) -> _State:
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
                names |= bound_names([node])
    return names


@dataclass(slots=True)
class _Loop:
    breaks: list[_State] = field(default_factory=list)
    continues: list[_State] = field(default_factory=list)


@dataclass(slots=True)
class _Flow:
    loops: list[_Loop] = field(default_factory=list)

    def run(self, statements: Iterable[ast.stmt], state: _State) -> _State:
        for statement in statements:
            if state is None:
                return None
            state = self._step(statement, state)
        return state

    def _step(self, statement: ast.stmt, state: frozenset[str]) -> _State:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                state |= _surely_bound(test)
                return _join(self.run(body, state), self.run(orelse, state))
            case ast.For():
                return self._for(statement, state)
            case ast.While():
                return self._while(statement, state)
            case ast.Try() | ast.TryStar():
                return self._try(statement, state)
            case ast.With(items=items, body=body):
                return self.run(body, state | bound_names(items))
            case ast.Match(subject=subject, cases=cases):
                return self._match(cases, state | _surely_bound(subject))
            case ast.Raise():
                return None
            case ast.Break():
                self.loops[-1].breaks.append(state)  # it compiles, so there is one
                return None
            case ast.Continue():
                self.loops[-1].continues.append(state)
                return None
            case ast.Delete():
                return state - bound_names([statement])
            case ast.AugAssign(value=value):
                return state | _surely_bound(value)  # the target has a value already
            case ast.AnnAssign(value=None):
                return state
            case _:
                return state | _surely_bound(statement)

    def _body(
        self, body: list[ast.stmt], state: frozenset[str]
    ) -> tuple[_State, _Loop]:
        self.loops.append(_Loop())
        after = self.run(body, state)
        loop = self.loops.pop()
        return _join(after, *loop.continues), loop

    def _for(self, loop: ast.For, state: frozenset[str]) -> _State:
        before = state | _surely_bound(loop.iter)
        after, jumps = self._body(loop.body, before | bound_names([loop.target]))
        done = after if repetitions(loop.iter, {}) else _join(before, after)
        return _join(self.run(loop.orelse, done), *jumps.breaks)

    def _while(self, loop: ast.While, state: frozenset[str]) -> _State:
        before = state | _surely_bound(loop.test)
        after, jumps = self._body(loop.body, before)
        forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        ended = None if forever else self.run(loop.orelse, _join(before, after))
        return _join(ended, *jumps.breaks)

    def _try(self, block: ast.Try | ast.TryStar, state: frozenset[str]) -> _State:
        tried = self.run(block.orelse, self.run(block.body, state))
        deleted = frozenset(
            name
            for node in ast.walk(ast.Module(body=block.body, type_ignores=[]))
            if isinstance(node, ast.Delete)
            for name in bound_names([node])
        )
        ends = [tried]
        for handler in block.handlers:
            handled = self.run(handler.body, state - deleted)
            # Python deletes the handler's name when it is left.
            ends.append(None if handled is None else handled - {handler.name or ""})
        joined = _join(*ends)
        last = self.run(block.finalbody, state - deleted if joined is None else joined)
        return None if joined is None else last

    def _match(self, cases: list[ast.match_case], state: frozenset[str]) -> _State:
        ends = [self.run(c.body, state | bound_names([c.pattern])) for c in cases]
        last = cases[-1]
        irrefutable = (
            isinstance(last.pattern, ast.MatchAs)
            and last.pattern.pattern is None
            and last.guard is None
        )
        return _join(*ends, *([] if irrefutable else [state]))


def repetitions(iterable: ast.expr, sizes: Mapping[str, int]) -> int | None:
    """Return how often a loop over this runs, None where that is not plain to see.

    `sizes` are those of the lists of inputs.
    """
    match iterable:
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.Call(
            func=ast.Name(id="enumerate" | "reversed" | "list" | "sorted"),
            args=[inner],
        ):
            return repetitions(inner, sizes)
        case ast.Call(
            func=ast.Name(id="range"),
            args=[ast.Call(func=ast.Name(id="len"), args=[inner])],
        ):
            return repetitions(inner, sizes)
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            return _length_of_range(args)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            starred = any(isinstance(item, ast.Starred) for item in items)
            return None if starred else len(items)
        case _:
            return None


def _length_of_range(arguments: list[ast.expr]) -> int | None:
    bounds = [_whole_number(argument) for argument in arguments]
    numbers = [bound for bound in bounds if bound is not None]
    if len(numbers) < len(bounds) or not 1 <= len(numbers) <= 3:
        return None
    try:
        return len(range(*numbers))
    except (ValueError, OverflowError):
        return None


def _whole_number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _whole_number(operand)
            return None if number is None else -number
        case _:
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
        return sum(_count(statement, calls_of, sizes) for statement in statements)
    except _Depends:
        return None


def _count(node: ast.AST, calls_of: CallsOf, sizes: Mapping[str, int]) -> int:
    def inside(nodes: Iterable[ast.AST]) -> int:
        return sum(_count(child, calls_of, sizes) for child in nodes)

    match node:
        case ast.For(iter=iterable, body=body, orelse=orelse):
            times = _times(inside(body), iterable, body, sizes)
            return times + inside([iterable, *orelse])
        case ast.If(test=test, body=body, orelse=orelse):
            return inside([test]) + _same(inside(body), inside(orelse))
        case ast.IfExp(test=test, body=yes, orelse=no):
            return inside([test]) + _same(inside([yes]), inside([no]))
        case ast.BoolOp(values=[first, *rest]):
            return inside([first]) + _same(inside(rest), 0)
        case ast.Compare(left=left, comparators=[first, *rest]):
            return inside([left, first]) + _same(inside(rest), 0)
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return _comprehension(node, inside, sizes)
        case ast.Call(func=ast.Name(id=taker), args=[ast.GeneratorExp() as given]) if (
            taker in _CONSUMERS
        ):
            return _comprehension(given, inside, sizes)
        case ast.Match(cases=cases, subject=subject):
            guards = [case.guard for case in cases if case.guard]
            counts = [inside(case.body) for case in cases] + [inside(guards), 0]
            return inside([subject]) + _same(*counts)
        case ast.Try() | ast.TryStar():
            _same(inside(node.handlers), 0)
            return inside([*node.body, *node.orelse, *node.finalbody])
        case ast.Call(func=function):
            calls = calls_of(function)
            if calls is None:
                raise _Depends
            return calls + inside(ast.iter_child_nodes(node))
        case _ if isinstance(node, _RUN_ANY_NUMBER_OF_TIMES):
            return _same(inside(ast.iter_child_nodes(node)), 0)
        case _:
            return inside(ast.iter_child_nodes(node))


def _same(*counts: int) -> int:
    if len(set(counts)) > 1:
        raise _Depends
    return counts[0]


def _times(
    count: int, iterable: ast.expr, body: list[ast.stmt], sizes: Mapping[str, int]
) -> int:
    if count == 0:
        return 0
    times = repetitions(iterable, sizes)
    leaves = any(
        isinstance(node, ast.Break | ast.Continue | ast.Raise)
        for statement in body
        for node in ast.walk(statement)
    )
    if times is None or leaves:
        raise _Depends
    return times * count


def _comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    inside: Callable[[Iterable[ast.AST]], int],
    sizes: Mapping[str, int],
) -> int:
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    count = inside(parts)
    for generator in reversed(node.generators):
        count += _same(inside(generator.ifs), 0)
        if generator.ifs:
            _same(count, 0)
        count = _times(count, generator.iter, [], sizes)
        count += inside([generator.iter])
    return count


def safety(k: int | None) -> str:
    """Return what kind of property a number of model invocations makes."""
    return "k depends on the run" if k is None else f"{k}-safety"

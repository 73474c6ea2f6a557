"""Which names a block of Python has assigned when it ends, whatever path it took."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from nomos.lang.block import walk_own_scope

# The names assigned for sure at a point; None where no path arrives.
_State = frozenset[str] | None


def bound_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return every name that these nodes bind in the block's own scope."""
    names: set[str] = set()
    for node in walk_own_scope(list(nodes)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
            case _:
                pass
    return frozenset(names)


def always_assigned(statements: Iterable[ast.stmt]) -> frozenset[str] | None:
    """Return the names assigned on every path, None if no path ends normally."""
    return _Flow().run(statements, frozenset())


def _join(*states: _State) -> _State:
    arriving = [state for state in states if state is not None]
    return frozenset.intersection(*arriving) if arriving else None


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
                state |= bound_names([test])
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
                return self._match(cases, state | bound_names([subject]))
            case ast.Raise() | ast.Return():
                return None
            case ast.Break() | ast.Continue():
                if self.loops:
                    loop = self.loops[-1]
                    is_break = isinstance(statement, ast.Break)
                    (loop.breaks if is_break else loop.continues).append(state)
                return None
            case ast.Delete():
                deleted = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
                return state - deleted
            case ast.AnnAssign(value=None):
                return state
            case _:
                return state | bound_names([statement])

    def _body(
        self, body: list[ast.stmt], state: frozenset[str]
    ) -> tuple[_State, _Loop]:
        self.loops.append(_Loop())
        after = self.run(body, state)
        loop = self.loops.pop()
        return _join(after, *loop.continues), loop

    def _for(self, loop: ast.For, state: frozenset[str]) -> _State:
        before = state | bound_names([loop.iter])
        after, jumps = self._body(loop.body, before | bound_names([loop.target]))
        done = after if runs_at_least_once(loop.iter) else before
        return _join(self.run(loop.orelse, done), *jumps.breaks)

    def _while(self, loop: ast.While, state: frozenset[str]) -> _State:
        before = state | bound_names([loop.test])
        _, jumps = self._body(loop.body, before)
        forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        ended = None if forever else self.run(loop.orelse, before)
        return _join(ended, *jumps.breaks)

    def _try(self, block: ast.Try | ast.TryStar, state: frozenset[str]) -> _State:
        tried = self.run(block.orelse, self.run(block.body, state))
        handled = [
            self.run(
                handler.body, state | bound_names([handler]) & {handler.name or ""}
            )
            for handler in block.handlers
        ]
        joined = _join(tried, *handled)
        if joined is None:
            return None
        return self.run(block.finalbody, joined)

    def _match(self, cases: list[ast.match_case], state: frozenset[str]) -> _State:
        ends = [self.run(c.body, state | bound_names([c.pattern])) for c in cases]
        last = cases[-1]
        irrefutable = (
            isinstance(last.pattern, ast.MatchAs)
            and last.pattern.pattern is None
            and last.guard is None
        )
        return _join(*ends, *([] if irrefutable else [state]))


def repetitions(iterable: ast.expr) -> int | None:
    """Return how often a loop over this runs, None where that is not plain to see."""
    match iterable:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            values = [a.value for a in args if isinstance(a, ast.Constant)]
            if 1 <= len(values) == len(args) <= 3 and all(
                type(v) is int for v in values
            ):
                try:
                    return len(range(*values))  # type: ignore[arg-type]  # checked above
                except (ValueError, OverflowError):
                    return None
            return None
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return (
                None if any(isinstance(i, ast.Starred) for i in items) else len(items)
            )
        case _:
            return None


def runs_at_least_once(iterable: ast.expr) -> bool:
    """Tell whether a loop over this certainly runs."""
    return bool(repetitions(iterable))

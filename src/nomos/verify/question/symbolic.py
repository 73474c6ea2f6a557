"""Run a spec on symbols: what it asks of the model, as formulas over features and draws.

A formula is an expression of the core whose variables are variables: `x1.age` (a feature of
an input), `randInt#0` (a draw) or `answer#0` (what the model answers to a call).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, assert_never

from nomos.diagnostics.source import Span
from nomos.domain.schema import Schema
from nomos.engine.meaning.operators import list_indices
from nomos.engine.vectorized.unchanged import compared_functions
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.lang.types import BUILT_IN, Type
from nomos.verify.question.choices import expand_call, take_out_choices
from nomos.verify.question.unchanged import require_change

Record = Mapping[str, core.Expr]
Symbol = core.Expr | Record
ANSWER = "answer#"


@dataclass(frozen=True, slots=True)
class Draw:
    """A `randInt` or `randReal`: the variable of its value, and its bounds."""

    variable: str
    low: core.Expr
    high: core.Expr
    is_real: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """A value that the spec puts into a feature."""

    feature: str
    value: core.Expr


@dataclass(frozen=True, slots=True)
class AnswerOfCall:
    """What a function says of the record of a call: a label, or a number of the model."""

    call: int
    function: str
    output: str  # such as `probability[1]`; "": what the model predicts


@dataclass(frozen=True, slots=True)
class Question:
    """What a spec asks: for all variables that fulfil the guards, do the ensures hold?"""

    spec: core.Spec
    inputs: tuple[str, ...]
    draws: tuple[Draw, ...]
    guards: tuple[core.Expr, ...]
    writes: tuple[Write, ...]
    calls: tuple[Record, ...]
    answers: tuple[AnswerOfCall, ...]
    ensures: tuple[core.Expr, ...]

    @property
    def used(self) -> tuple[int, ...]:
        """The places of the answers of which an ensures says something."""
        named = {name for one in self.ensures for name in variables(one)}
        return tuple(n for n in range(len(self.answers)) if f"{ANSWER}{n}" in named)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions that are asked."""
        return tuple(dict.fromkeys(answer.function for answer in self.answers))


def variables(expr: core.Expr) -> frozenset[str]:
    """Return the variables in a formula."""
    named = (node for node in core.walk(expr) if isinstance(node, core.Variable))
    return frozenset(node.name for node in named)


def asks_answer(*formulas: core.Expr) -> bool:
    """Tell whether what the model answers stands in a formula."""
    named = (name for one in formulas for name in variables(one))
    return any(name.startswith(ANSWER) for name in named)


def question(
    spec: core.Spec,
    schema: Schema,
    models: Mapping[str, str],
    functions: Collection[str] = (),
) -> Question:
    """Run a spec on symbols; `models` is what a domain's `verifies` says of functions.

    `functions` are all that the domain has; one of them may be called as a built-in is.
    """
    if spec.campaign_ensures:
        at = spec.campaign_ensures[0].test.span
        raise NotProvable("a rate is of the cases of a campaign", at)
    if spec.code.straight is None:
        raise NotProvable(
            "the block is more than assignments of calls: a proof needs to know "
            "beforehand what the model is asked",
            _find_block(spec),
        )
    run = _Run(spec, schema, models, functions)
    guards = []
    for one in spec.guarded_variables:
        if isinstance(one, core.Let):
            run.scope[one.name] = run.value(one.value)
        else:
            guards.append(take_out_choices(run.formula(one.test), lambda _: True))
    for let in (*spec.code.straight, *spec.later_variables):
        run.scope[let.name] = run.value(let.value)
    ensures = [
        take_out_choices(run.formula(condition.test), asks_answer)
        for condition in spec.ensures
    ]
    if not run.calls:
        raise NotProvable("the block does not ask the model", _find_block(spec))
    if compared_functions(spec, models, lambda _: False):
        bounds = {draw.variable: (draw.low, draw.high) for draw in run.draws}
        at = _find_block(spec) or Span(0, 0)
        guards += require_change(run.calls, bounds, guards, at)
    return Question(
        spec=spec,
        inputs=spec.inputs,
        draws=tuple(run.draws),
        guards=tuple(guards),
        writes=tuple(run.writes),
        calls=tuple(run.calls),
        answers=_name_models(list(run.answers), models),
        ensures=tuple(ensures),
    )


def _name_models(
    answers: list[AnswerOfCall], models: Mapping[str, str]
) -> tuple[AnswerOfCall, ...]:
    """Return answers whose outputs name their models, where several are asked."""
    asked = [models[answer.function].partition(".")[0] for answer in answers]
    if len(set(asked)) < 2:
        return tuple(answers)
    pairs = zip(asked, answers, strict=True)
    return tuple(replace(own, output=f"{name}:{own.output}") for name, own in pairs)


def _find_block(spec: core.Spec) -> Span | None:
    if not spec.code.statements:
        return None
    line = spec.code.statements[0].lineno
    start = spec.source.line_starts[line - 1]
    text = spec.source.line(line)
    return Span(start + len(text) - len(text.lstrip()), start + len(text))


class _Run:
    """Evaluates expressions to formulas, and notes draws, writes and calls."""

    def __init__(
        self,
        spec: core.Spec,
        schema: Schema,
        models: Mapping[str, str],
        functions: Collection[str],
    ) -> None:
        self.spec = spec
        self.schema = schema
        self.models = models
        self.functions = functions
        self.answers: dict[AnswerOfCall, int] = {}  # their places
        self.draws: list[Draw] = []
        self.writes: list[Write] = []
        self.calls: list[Record] = []
        self.lazy = 0  # how many right sides of logic surround what is evaluated
        self.scope: dict[str, Symbol] = {
            name: {
                f.name: _make_variable(f"{name}.{f.name}", f.type)
                for f in schema.features
            }
            for name in spec.inputs
        }

    def formula(self, expr: core.Expr) -> core.Expr:
        """Return the formula of an expression that is no record."""
        return _no_record(self.value(expr), expr)

    def value(self, expr: core.Expr) -> Symbol:
        """Return what an expression stands for."""
        match expr:
            case core.Constant():
                if expr.value is None:
                    raise NotProvable("a value is missing", expr.span)
                return expr
            case core.Variable(name=name):
                if name not in self.scope:
                    raise NotProvable("a list as a whole is no formula", expr.span)
                return self.scope[name]
            case core.GetFeature(record=record, key=key):
                return self._run_record(record)[self._feature_name(key)]
            case core.SetFeature():
                return self._set_feature(expr)
            case core.Label():
                raise NotProvable("only rows of the data have labels", expr.span)
            case core.RandInt() | core.RandReal():
                return self._draw_symbol(expr)
            case core.Conditional():
                return self._run_conditional(expr)
            case core.Index():
                return self._run_item(expr)
            case core.Contains() | core.Comprehension():
                raise NotProvable("what a list holds differs by case", expr.span)
            case core.Quantifier():
                return self._write_out(expr)
            case core.Apply(parameters=names, arguments=arguments, body=body):
                given = zip(names, map(self.value, arguments), strict=True)
                return self._bind_names(dict(given), body)
            case core.Call():
                return self._run_call(expr)
            case core.Not() | core.Negate():
                return replace(expr, operand=self.formula(expr.operand))
            case core.Arithmetic() | core.Compare():
                left, right = self.formula(expr.left), self.formula(expr.right)
                return replace(expr, left=left, right=right)
            case core.Logic():
                left = self.formula(expr.left)
                self.lazy += 1
                right = self.formula(expr.right)
                self.lazy -= 1
                return replace(expr, left=left, right=right)
            case _:
                assert_never(expr)

    def _bind_names(self, names: Mapping[str, Symbol], body: core.Expr) -> Symbol:
        """Return what a body stands for, in which more names have values."""
        outside = self.scope
        self.scope = outside | dict(names)
        value = self.value(body)
        self.scope = outside
        return value

    def _run_conditional(self, expr: core.Conditional) -> Symbol:
        test = self.formula(expr.test)
        self.lazy += 1
        yes, no = self.value(expr.yes), self.value(expr.no)
        self.lazy -= 1
        if not isinstance(yes, Mapping) and not isinstance(no, Mapping):
            return core.Conditional(test, yes, no, span=expr.span)
        if not (isinstance(yes, Mapping) and isinstance(no, Mapping)):
            raise NotProvable("this is a record or not, by case", expr.span)
        if asks_answer(test):
            raise NotProvable("an answer of the model chooses a record", expr.span)
        return {
            name: yes[name]
            if yes[name] == no[name]
            else core.Conditional(test, yes[name], no[name], span=expr.span)
            for name in yes
        }

    def _run_item(self, expr: core.Index) -> Symbol:
        place = self.formula(expr.index)
        if isinstance(expr.items, core.Variable) and isinstance(place, core.Constant):
            item = f"{expr.items.name}[{place.value}]"
            if item in self.scope:
                return self.scope[item]
        raise NotProvable("which item of a list is meant differs by case", expr.span)

    def _write_out(self, expr: core.Quantifier) -> core.Expr:
        """Return a quantifier written out: one part for each choice of its indices."""
        parts: list[core.Expr] = []
        count, body = len(expr.indices), expr.body
        is_fold = expr.word in ("min", "max", "mean")
        if expr.over is not None or (expr.condition is not None and is_fold):
            raise NotProvable(
                f"`{expr.word}` is of items that differ by case", expr.span
            )
        if expr.condition is not None:
            body = _restrict_body(expr, expr.condition)
        for chosen in list_indices(expr.size, count, expr.is_ordered):
            chosen = chosen if count > 1 else (chosen,)
            places = [core.Constant(number, span=expr.span) for number in chosen]
            self.lazy += bool(parts)
            given = dict(zip(expr.indices, places, strict=True))
            one = self._bind_names(given, body)
            self.lazy -= bool(parts)
            parts.append(_no_record(one, expr))
        span = expr.span
        zero, single = (core.Constant(number, span=span) for number in (0, 1))
        if expr.word in ("forall", "exists"):
            sign: Literal["&&", "||"] = "&&" if expr.word == "forall" else "||"
            none = core.Constant(expr.word == "forall", span=span)
            return reduce(
                lambda a, b: core.Logic(sign, a, b, span=span), parts or [none]
            )
        if is_fold:
            return expand_call(expr.word, parts, None, span)
        if expr.word == "count":
            parts = [core.Conditional(p, single, zero, span=span) for p in parts]
        return reduce(
            lambda a, b: core.Arithmetic("+", a, b, span=span), parts or [zero]
        )

    def _run_record(self, expr: core.Expr) -> Record:
        value = self.value(expr)
        if not isinstance(value, Mapping):
            raise NotProvable("this is no record of the schema", expr.span)
        return value

    def _feature_name(self, key: core.Expr) -> str:
        known = self.formula(key)
        if not isinstance(known, core.Constant):
            raise NotProvable("which feature is meant differs by case", key.span)
        return self.schema.place(known.value)[0].name

    def _set_feature(self, expr: core.SetFeature) -> Record:
        record, name = self._run_record(expr.record), self._feature_name(expr.key)
        value = self.formula(expr.value)
        if asks_answer(value):
            raise NotProvable("an answer of the model goes into a record", expr.span)
        self.writes.append(Write(name, value))
        return {**record, name: value}

    def _draw_symbol(self, expr: core.RandInt | core.RandReal) -> core.Expr:
        if self.lazy:
            raise NotProvable("whether this is drawn differs by case", expr.span)
        low, high = self.formula(expr.low), self.formula(expr.high)
        if asks_answer(low, high):
            raise NotProvable("an answer of the model bounds a draw", expr.span)
        is_real = isinstance(expr, core.RandReal)
        word, kind = ("randReal", Type.REAL) if is_real else ("randInt", Type.INT)
        variable = _make_variable(f"{word}#{len(self.draws)}", kind, expr.span)
        self.draws.append(Draw(variable.name, low, high, is_real))
        return variable

    def _run_built_in(self, expr: core.Call) -> core.Expr:
        first, *others = expr.arguments
        if isinstance(first, core.Variable) and first.name not in self.scope:
            items = [n for n in self.scope if n.rpartition("[")[0] == first.name]
            values = [_no_record(self.scope[name], first) for name in items]
        else:
            values = [self.formula(first)]
        feature = None
        if isinstance(values[0], core.Variable) and "." in values[0].name:
            feature = self.schema.place(values[0].name.partition(".")[2])[0]
        values += map(self.formula, others)
        return expand_call(expr.function, values, feature, expr.span)

    def _run_call(self, expr: core.Call) -> core.Expr:
        if expr.function in BUILT_IN and expr.function not in self.functions:
            return self._run_built_in(expr)
        if expr.draws or expr.function not in self.models:
            name = expr.function
            declares = (
                f'`verifies = {{"{name}": "model"}}` in the domain says that it is'
            )
            why = f"is not declared to be a model: {declares} what `self.model` answers"
            what = "draws at random" if expr.draws else why
            raise NotProvable(f"`{name}` {what}", expr.span)
        _, _, output = self.models[expr.function].partition(".")
        if self.lazy:
            raise NotProvable("whether the model is asked differs by case", expr.span)
        if len(expr.arguments) != 1:
            raise NotProvable("the model is asked about more than a record", expr.span)
        record = self._run_record(expr.arguments[0])
        if record not in self.calls:
            self.calls.append(record)
        answer = AnswerOfCall(self.calls.index(record), expr.function, output)
        place = self.answers.setdefault(answer, len(self.answers))
        return _make_variable(f"{ANSWER}{place}", Type.UNKNOWN, expr.span)


def _restrict_body(expr: core.Quantifier, condition: core.Expr) -> core.Expr:
    """Return the body of a quantifier which is as good as none where `if` does not hold."""
    span = expr.span
    if expr.word == "sum":
        nothing = core.Constant(0, span=span, type=Type.INT)
        return core.Conditional(condition, expr.body, nothing, span=span)
    sign: Literal["==>", "&&"] = "==>" if expr.word == "forall" else "&&"
    return core.Logic(sign, condition, expr.body, span=span, type=Type.BOOL)


def _no_record(value: Symbol, expr: core.Expr) -> core.Expr:
    if isinstance(value, Mapping):
        raise NotProvable("a record is compared or calculated with", expr.span)
    return value


def _make_variable(name: str, kind: Type, span: Span | None = None) -> core.Variable:
    return core.Variable(name, span=span or Span(0, 0), type=kind)

"""A spec and its domain, ready to run: the source of inputs, and the functions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from nomos.diagnostics.source import Source
from nomos.domain.domain import (
    Domain,
    calls_of,
    declared_classes,
    has_models,
    may_ask,
    members,
)
from nomos.domain.functions import BoundBatched
from nomos.domain.reading.source import labels_of, source_of
from nomos.domain.records import Column, get_feature, numbers, set_feature, to_column
from nomos.domain.schema import Schema
from nomos.domain.values import is_value, plain
from nomos.engine.meaning.operators import BUILT_INS, is_nan, same
from nomos.engine.meaning.running import Current, Function, bind_function, draws
from nomos.engine.named_answers import add_unseen_levels, check_answers
from nomos.engine.pairs import PairIndex, RowChooser
from nomos.engine.random_models import (
    Resampling,
    asks_for_several,
    functions_of_conditions,
)
from nomos.engine.vectorized.rows import SourceRows, frozen
from nomos.engine.vectorized.unchanged import compared_functions
from nomos.errors import DomainError
from nomos.lang import core
from nomos.lang.types import MAX_INT, NEVER_MODELS


class Program:
    """What a spec's names stand for at run time."""

    def __init__(
        self,
        spec: core.Spec,
        domain: Domain,
        functions: Mapping[str, Function] | None = None,
        modules: Mapping[str, ModuleType] | None = None,
    ) -> None:
        self.spec = spec
        self.domain = domain
        own = {name: getattr(domain, name) for name, _ in members(type(domain))}
        self.functions = {**(functions or {}), **own}
        # Where no function is batched, each that the block calls stands for the model.
        self.plain_models: frozenset[str] = frozenset()
        if not has_models(type(domain)):
            self.plain_models = frozenset(own.keys() - NEVER_MODELS)
        models = {n for n, m in members(type(domain)) if calls_of(type(domain), n, m)}
        self.compared = compared_functions(spec, models, self.draws)
        self.modules = dict(modules or {})
        self.schema: Schema | None = domain.schema
        source = source_of(domain)
        self._draw_from(source, labels_of(domain, len(source)))
        self._asks: dict[str, bool] = {}
        self.resampling: Resampling | None = None
        self.begins_changed: bool | None = None  # whether the model is asked two things
        if self.labels is not None and len(spec.inputs) > 1:
            self._check_labels_told_apart()
        add_unseen_levels(spec, domain)
        check_answers(spec, domain, self.classes_of)
        self._check_pairs()

    def _draw_from(self, source: Any, labels: Sequence[Any] | None) -> None:
        self.source: Any = frozen(source)  # a sequence, often an array
        self.rows: SourceRows | None = None  # the source, where it is an array of rows
        if isinstance(source, np.ndarray) and source.ndim > 1:
            self.rows = SourceRows(self.source, self.schema)
        self.labels, self._is_value = labels, dict[int, bool]()

    def with_inputs(self, rows: Any, labels: Sequence[Any] | None = None) -> Program:
        """Return the same program drawing from other records."""
        other = copy.copy(self)
        for name in ("can_remember", "label_column", "pairs"):  # of the source
            other.__dict__.pop(name, None)
        other._draw_from(rows, labels)
        return other

    def with_samples(self, resampling: Resampling) -> Program:
        """Return the same program, whose random models give other samples."""
        other = copy.copy(self)
        other.resampling = resampling
        other.begins_changed = False if resampling.is_control else None
        return other

    @cached_property
    def random_models(self) -> frozenset[str]:
        """The functions that draw, and that the block alone calls."""
        own = {n for n in self.spec.code.called if draws(self.functions.get(n))}
        return frozenset(own - functions_of_conditions(self.spec))

    def cost_of(self, name: str) -> int:
        """Return how many calls a function that is not batched costs, which `--calls` limits.

        Those that stand for the model do, and those that draw in the block.
        """
        is_plain = not isinstance(self.functions.get(name), BoundBatched)
        is_random = name in self.random_models
        return int(name in self.plain_models or (is_plain and is_random))

    @cached_property
    def has_control(self) -> bool:
        """Whether a case asks a random model about several inputs: chance is told then.

        With `repeats`, the spec itself says how often a case may fail.
        """
        return not self.spec.repeats and asks_for_several(self.spec, self.random_models)

    @cached_property
    def pairs(self) -> dict[int, PairIndex]:
        """What finds the inputs that are drawn together, by the place of the first."""
        found: dict[int, PairIndex] = {}
        if self.rows is None or self.schema is None:
            return found
        for pair in self.spec.pairs:
            index = PairIndex(self.source, self.schema, pair.excepted)
            if index.total:
                found[self.spec.inputs.index(pair.first)] = index
        return found

    def chooser_of(self, number: int, drawn: Sequence[Any]) -> RowChooser | None:
        """Return what draws an input, given the places of those before it."""
        if number in self.pairs:
            return RowChooser(self.pairs[number])
        if number - 1 in self.pairs:
            return RowChooser(self.pairs[number - 1], np.atleast_1d(drawn[number - 1]))
        return None

    def _check_pairs(self) -> None:
        """Refuse a spec whose inputs have no rows that belong together."""
        for pair in self.spec.pairs:
            if self.spec.inputs.index(pair.first) in self.pairs:
                continue
            if self.rows is None or self.schema is None:
                raise DomainError(
                    f"{type(self.domain).__name__}.inputs() gives no array of rows, among"
                    f" which `{pair.first}` and `{pair.second}` could be found"
                )
            but = f" but {', '.join(pair.excepted)}" if pair.excepted else ""
            raise DomainError(
                f"no two of the {len(self.source)} rows agree in all features{but}:"
                f" `{pair.first}` and `{pair.second}` cannot be drawn\nhelp: name more"
                " features behind `except`, or change a copy: `var x2 := x1[f := ...];`"
            )

    @property
    def device(self) -> str:
        """Where the domain has its tensors; the processor, where it has none."""
        found = (member for _, member in members(type(self.domain)))
        is_tensors = any(getattr(member, "tensors", False) for member in found)
        return self.domain.device if is_tensors else "cpu"

    @property
    def case_bytes(self) -> int:
        """How large the records of a case are, as far as arrays are concerned."""
        first = self.source[0]
        size = first.nbytes if isinstance(first, np.ndarray) else 0
        return size * max(1, len(self.spec.inputs))

    def item(self, place: int) -> Any:
        """Return an item of the source as a value that a case may not change."""
        item = plain(self.source[place])
        shared = self._is_value.get(place)
        if shared is None:
            shared = self._is_value[place] = is_value(item)
        return item if shared else isolate_item(item)

    @cached_property
    def can_remember(self) -> bool:
        """Whether an item alone determines what functions say of it, whenever asked."""
        if any(draws(self.functions.get(name)) for name in ("getFeat", "setFeat")):
            return False
        if isinstance(self.source, np.ndarray):
            return True
        # Any other sequence makes its items when asked: someone may change them.
        return isinstance(self.source, list | tuple) and all(
            isinstance(i, np.ndarray) or is_value(i) for i in self.source
        )

    def label_at(self, place: int) -> Any:
        """Return the label of an item of the source."""
        if self.labels is None:
            raise LookupError("the domain has no labels")
        return plain(self.labels[place])

    @cached_property
    def label_column(self) -> Column:
        """The labels of all items."""
        labels: Any = self.labels
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "bi":
            return numbers(labels, copy=True)
        return to_column([self.label_at(place) for place in range(len(self.source))])

    def draws(self, name: str) -> bool:
        """Tell whether a function of this name draws."""
        if name in self.functions:
            return draws(self.functions[name])
        return name in ("randInt", "randReal")

    def find_batched(self, name: str) -> BoundBatched | None:
        """Return a batched function, None if the name stands for no such thing."""
        found = self.functions.get(name)
        return found if isinstance(found, BoundBatched) else None

    def classes_of(self, name: str) -> tuple[Any, ...] | None:
        """Return all answers that a function may give; None where nobody says so."""
        declared = declared_classes(type(self.domain))
        return tuple(map(plain, declared[name])) if name in declared else None

    def asks(self, name: str) -> bool:
        """Tell whether a function seems to call a batched one, however deep inside."""
        if name not in self._asks:
            self._asks[name] = may_ask(type(self.domain), self.functions[name])
        return self._asks[name]

    def namespace(
        self,
        current: Current,
        asking: Callable[[BoundBatched, bool], Function] | None = None,
    ) -> dict[str, Any]:
        """Return what names mean in a case: the language's functions and the domain's.

        `current` gives the case that runs; with it, draws go to the right record.
        `asking` makes what stands for a batched function, where that has its own way.
        """
        names: dict[str, Any] = {
            "MAX_INT": MAX_INT,
            "getFeat": lambda record, key: get_feature(record, key, self.schema),
            "setFeat": lambda r, key, value: set_feature(r, key, value, self.schema),
            "randInt": lambda low, high: current().draws.integer(low, high),
            "randReal": lambda low, high: current().draws.real(low, high),
            **BUILT_INS,
            "sum": sum,  # in the block it is Python's own
            "label": lambda record: current().label(record),
        }
        for name, function in self.functions.items():
            is_model, is_compared = name in self.plain_models, name in self.compared
            bind = partial(bind_function, is_model=is_model, is_compared=is_compared)
            names[name] = bind(name, function, current, costs=self.cost_of(name))
            if asking is None or draws(function):
                continue
            if isinstance(function, BoundBatched):
                names[name] = asking(function, is_compared)
        for name, module in self.modules.items():
            names[name] = SimpleNamespace(**{**vars(module), **names})
        return names

    def _check_labels_told_apart(self) -> None:
        """Refuse one object with two labels: which is meant, nobody could say."""
        if not isinstance(self.source, list | tuple):
            return
        seen: dict[int, int] = {}
        for place, item in enumerate(self.source):
            first = seen.setdefault(id(item), place)
            if first == place:
                continue
            one, other = self.label_at(first), self.label_at(place)
            # Unlike in a spec, NaN is the same as NaN.
            if not (same(one, other) or (is_nan(one) and is_nan(other))):
                raise DomainError(
                    f"{type(self.domain).__name__}.inputs() gives one object at {first}"
                    f" and at {place}, with different labels: {item!r}"
                )


def blank_spec(**parts: Any) -> core.Spec:
    """Return a spec that says nothing but these parts: a program needs one."""
    code = core.Code((), None, frozenset())
    blank = core.Spec("", "", Source("", ""), (), (), (), (), (), code, (), (), None)
    return replace(blank, **parts)


def isolate_item(item: Any) -> Any:
    """Return an item that a case can be handed without reaching another case."""
    if is_value(item):
        return item
    return frozen(item) if isinstance(item, np.ndarray) else copy.deepcopy(item)

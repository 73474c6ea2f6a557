"""A spec and its domain, ready to run: the source of inputs, and the functions."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from nomos.domain.domain import NOT_FUNCTIONS, Domain
from nomos.domain.functions import BoundBatched
from nomos.domain.records import get_feature, set_feature
from nomos.domain.schema import Schema
from nomos.errors import DomainError
from nomos.harness.choices import CaseDraws
from nomos.lang import core
from nomos.lang.types import MAX_INT

Array = np.ndarray[Any, Any]
_IMMUTABLE = (str, bytes, int, float, bool, type(None), np.generic)


class Running:
    """One case while it runs: its draws, and the items that it drew."""

    def __init__(self, program: Program, draws: CaseDraws) -> None:
        self.program = program
        self.draws = draws
        self.drawn: dict[int, int] = {}  # identity of an item: its place in the source
        self.calls = 0  # of the domain's functions, made by the block

    def input(self) -> Any:
        """Draw an item from the source."""
        place = self.draws.integer(0, len(self.program.source) - 1)
        item = self.program.item(place)
        self.drawn[id(item)] = place
        return item

    def label(self, record: Any) -> Any:
        """Return the label of a drawn item; a made-up record has none."""
        place = self.drawn.get(id(record))
        if place is None:
            raise LookupError("this record was made up, so it has no label")
        return self.program.label_at(place)


Current = Callable[[], Running]


class Program:
    """What a spec's names stand for at run time."""

    def __init__(
        self,
        spec: core.Spec,
        domain: Domain,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        modules: Mapping[str, ModuleType] | None = None,
    ) -> None:
        self.spec = spec
        self.domain = domain
        self.plain = dict(functions or {})
        self.modules = dict(modules or {})
        self.schema: Schema | None = domain.schema
        lets = (*spec.variables, *spec.later_variables)
        self.names = (*spec.inputs, *(let.name for let in lets), *spec.outputs)
        self.source: Any = _source(domain)  # a sequence, often an array
        labels = getattr(domain, "labels", None)
        self.labels: Sequence[Any] | None = None
        if labels is not None:
            self.labels = labels()
            if len(self.labels) != len(self.source):
                counts = f"{len(self.labels)} labels for {len(self.source)} inputs"
                raise DomainError(f"{type(domain).__name__} has {counts}")

    def item(self, place: int) -> Any:
        """Return an item of the source as a value that a case may not change."""
        return isolated(self.source[place])

    def label_at(self, place: int) -> Any:
        """Return the label of an item of the source."""
        if self.labels is None:
            raise LookupError("the domain has no labels")
        label = self.labels[place]
        return label.item() if isinstance(label, np.generic) else label

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of the domain or of a plain import, None if unknown."""
        if not name.startswith("_") and name not in NOT_FUNCTIONS:
            found = getattr(self.domain, name, None)
            if callable(found):
                return found  # type: ignore[no-any-return]  # checked
        return self.plain.get(name)

    def batched(self, name: str) -> BoundBatched | None:
        """Return a batched function, None if the name stands for no such thing."""
        found = self.function(name)
        return found if isinstance(found, BoundBatched) else None

    def namespace(self, current: Current) -> dict[str, Any]:
        """Return what names mean in a case: the language's functions and the domain's.

        `current` gives the case that runs; with it, draws go to the right record.
        """
        names: dict[str, Any] = {
            "MAX_INT": MAX_INT,
            "equal": equal,
            "differ": differ,
            "getFeat": lambda record, key: get_feature(record, key, self.schema),
            "setFeat": lambda r, key, value: set_feature(r, key, value, self.schema),
            "strConcat": concatenate,
            "randInt": lambda low, high: current().draws.integer(low, high),
            "label": lambda record: current().label(record),
        }
        own = {
            *self.plain,
            *(n for n in dir(type(self.domain)) if not n.startswith("_")),
        }
        for name in own:
            function = self.function(name)
            if function is not None:
                names[name] = self._bound(name, function, current)
        for name, module in self.modules.items():
            names[name] = SimpleNamespace(**{**vars(module), **names})
        return names

    def _bound(
        self, name: str, function: Callable[..., Any], current: Current
    ) -> Callable[..., Any]:
        """Count a function's calls, and hand it a generator where it draws."""
        marked = function.function if isinstance(function, BoundBatched) else function
        draws = bool(getattr(marked, "draws", False))

        def call(*arguments: Any, **options: Any) -> Any:
            running = current()
            running.calls += 1
            if draws:
                arguments = (*arguments, running.draws.generator())
            result = function(*arguments, **options)
            return result.item() if isinstance(result, np.generic) else result

        call.__name__ = name
        return call


def _source(domain: Domain) -> Any:
    source: Any = domain.inputs()
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
        raise DomainError(f"{type(domain).__name__}.inputs() must give a sequence")
    if len(source) == 0:
        raise DomainError(f"{type(domain).__name__}.inputs() gives no inputs")
    if isinstance(source, np.ndarray):
        if domain.schema is not None and source.shape[1:] != (domain.schema.width,):
            raise DomainError(
                f"{type(domain).__name__}.inputs() has shape {source.shape}, "
                f"but the schema has {domain.schema.width} columns"
            )
        source = source.view()
        source.flags.writeable = False
    return source


def is_value(item: Any) -> bool:
    """Tell whether nothing can change an item, so that cases may share it."""
    if isinstance(item, np.ndarray):
        return not item.flags.writeable
    if isinstance(item, tuple):
        return all(is_value(part) for part in item)
    frozen = getattr(getattr(item, "__dataclass_params__", None), "frozen", False)
    return frozen or isinstance(item, _IMMUTABLE)


def isolated(item: Any) -> Any:
    """Return an item that a case can be handed without reaching another case."""
    if isinstance(item, np.generic):
        return item.item()
    if is_value(item):
        return item
    if isinstance(item, np.ndarray):
        item = item.view()
        item.flags.writeable = False
        return item
    return copy.deepcopy(item)


def concatenate(first: Any, second: Any) -> str:
    """Join two strings."""
    if not isinstance(first, str) or not isinstance(second, str):
        raise TypeError("strConcat takes strings")
    return first + second


def equal(left: Any, right: Any) -> bool:
    """Compare by value; arrays element by element, and NaN equals nothing."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right)


def differ(left: Any, right: Any) -> bool:
    """Tell whether values differ; a comparison with NaN does not hold."""
    if equal(left, right):
        return False
    return not (_is_nan(left) or _is_nan(right))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)

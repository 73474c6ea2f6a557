"""The class that a domain file subclasses, and what such a class offers to specs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, ClassVar

from nomos.device import placement
from nomos.domain.functions import BoundBatched, batched, concurrent
from nomos.domain.schema import Ordinal, Schema
from nomos.errors import DomainError
from nomos.lang.types import NEVER_MODELS, Function, Offer, Type


class DeviceOfRun:
    """Gives a domain the device of the run in which it is first asked for."""

    def __get__(self, domain: Any, kind: Any = None) -> str:
        own = {} if domain is None else domain.__dict__
        device: str = own.setdefault("device", placement().device)
        return device


class Domain:
    """What `import name;` gives to a spec: a source of inputs, and functions.

    Every public method of a subclass is a function of the language. `inputs()` is what
    `input x;` draws from; `labels()`, where there is one, says the label of each item.
    `getFeat`, `setFeat` and `strConcat` may be overridden. `show(record)` may say what
    a record looks like (see nomos.domain.show). `training()` may give the records and
    labels that a model may be trained on, none of them among the inputs (`nomos repair`).
    `scores(records)` may give the scores of each class for each record, class 0 first:
    what guides a search (`--search guided`); a model that `verifies` names has its own.

    `verifies` says which functions are a model and nothing else, for `nomos verify`:
    with `{"predict": "model"}`, `predict(x)` is what `self.model.predict` says of x. With
    `"model.probability[1]"` it is the probability of the class with that number (of two
    classes that of the second, without a number), with `"model.score"` the score itself.

    `classes` says which answers functions may give, as in `{"predict": (0, 1)}`: of a
    `@total` function, an answer that decides nothing is then not asked for.
    `device` is where functions marked with `@tensors` have their tensors: what
    `--device` says, unless the domain says something else.
    """

    schema: ClassVar[Schema | None] = None
    verifies: ClassVar[Mapping[str, str]] = {}
    classes: ClassVar[Mapping[str, Sequence[Any]]] = {}
    device: str = DeviceOfRun()  # type: ignore[assignment]  # it gives a string

    def __init_subclass__(cls, **given: Any) -> None:
        """Let calls of coroutines run side by side, as those of `@concurrent` do."""
        super().__init_subclass__(**given)
        for name, member in list(vars(cls).items()):
            if inspect.iscoroutinefunction(member) and not name.startswith("_"):
                made = concurrent(member)
                made.__set_name__(cls, name)
                setattr(cls, name, made)

    def inputs(self) -> Sequence[Any]:
        """Return the items that an input is drawn from."""
        raise DomainError(f"{type(self).__name__} has no method `inputs`")


NOT_FUNCTIONS = frozenset(
    {"inputs", "labels", "schema", "show", "show_case", "environment", "training"}
)
_TYPES = {"int": Type.INT, "float": Type.REAL, "bool": Type.BOOL, "str": Type.STRING}


def offer_of(domain: type[Domain]) -> Offer:
    """Return what a domain offers, from its class alone: nothing is run."""
    functions = {}
    for name, member in members(domain):
        batch = isinstance(member, batched)
        of_class = isinstance(member, staticmethod | classmethod)
        plain = member.method if batch else member.__func__ if of_class else member
        # Only what `def` makes is handed the domain, or its class.
        is_handed = batch or isinstance(member, classmethod)
        bound = is_handed or inspect.isfunction(member)
        found = signature(name, plain, bound=bound, batch=batch)
        functions[name] = replace(found, k=calls_of(domain, name, member))
    return Offer(
        functions=functions,
        features=None if domain.schema is None else domain.schema.types,
        input_type=_input_type(domain),
        has_labels=hasattr(domain, "labels") or "label" in functions,
        orders={
            name: declared.levels
            for name, declared in declared_classes(domain).items()
            if isinstance(declared, Ordinal)
        },
    )


def declared_classes(domain: type[Domain]) -> Mapping[str, Any]:
    """Return what a domain says that its functions answer; nothing, if it does not."""
    declared = getattr(domain, "classes", {})
    return declared if isinstance(declared, Mapping) else {}


def has_models(domain: type[Domain]) -> bool:
    """Tell whether a domain says which of its functions are models: the batched ones."""
    found = (member for _, member in members(domain))
    return any(isinstance(member, batched) and member.is_model for member in found)


def calls_of(domain: type[Domain], name: str, member: Any) -> int:
    """Return how many calls of a model one call of a function is.

    A function that asks a model, however often, is one call of it.
    """
    if isinstance(member, batched):
        return int(member.is_model)
    if not has_models(domain):
        return int(name not in NEVER_MODELS)
    return int(may_ask(domain, member))


def may_ask(domain: type[Domain], function: Any) -> bool:
    """Tell whether a function seems to call a batched one, however deep inside."""
    if not any(isinstance(member, batched) for _, member in members(domain)):
        return False
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(function, FunctionType):  # there is no code to look at
        asks_none = inspect.isbuiltin(function) or inspect.isclass(function)
        return not (asks_none or isinstance(function, BoundBatched))
    todo: list[tuple[CodeType, dict[str, Any]]] = []
    seen: set[CodeType] = set()

    def follow(found: Any) -> None:
        found = getattr(found, "__func__", found)
        if isinstance(found, FunctionType):
            todo.append((found.__code__, found.__globals__))

    follow(function)
    while todo:
        code, known = todo.pop()
        if code in seen:
            continue
        seen.add(code)
        todo += [(c, known) for c in code.co_consts if isinstance(c, CodeType)]
        for name in code.co_names:
            member = inspect.getattr_static(domain, name, None)
            if isinstance(member, batched) or name == "getattr":
                return True
            follow(known.get(name) if member is None else member)
    return False


def members(domain: type[Domain]) -> Iterator[tuple[str, Any]]:
    """Yield what of a class is a function of the language, as the class holds it."""
    for name in dir(domain):
        member = inspect.getattr_static(domain, name)
        is_function = callable(member) or isinstance(
            member, batched | staticmethod | classmethod
        )
        if is_function and not name.startswith("_") and name not in NOT_FUNCTIONS:
            yield name, member


def signature(
    name: str, function: Callable[..., Any], *, bound: bool = True, batch: bool = False
) -> Function:
    """Return how a function is called from a spec."""
    draws = bool(getattr(function, "draws", False))
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C do not say what they take
        return Function(name, 0, None, Type.UNKNOWN, draws, batch)
    parameters = list(found.parameters.values())[int(bound) :]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    plain = [p for p in parameters if p.kind in kinds]
    least = sum(p.default is inspect.Parameter.empty for p in plain)
    many = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    returns = Type.UNKNOWN if batch else _type(found.return_annotation)
    most = None if many else len(plain) - int(draws)
    return Function(name, max(0, least - int(draws)), most, returns, draws, batch)


def _type(annotation: Any) -> Type:
    is_text = isinstance(annotation, str)
    word = annotation if is_text else getattr(annotation, "__name__", "")
    return _TYPES.get(word, Type.UNKNOWN)


def _input_type(domain: type[Domain]) -> Type:
    """Return the type of the inputs, as far as the class says it."""
    if domain.schema is not None:
        return Type.RECORD
    annotation = inspect.signature(domain.inputs).return_annotation
    if domain.inputs is Domain.inputs or annotation is inspect.Signature.empty:
        return Type.UNKNOWN
    words = str(annotation)
    inside = words[words.find("[") + 1 : words.rfind("]")] if "[" in words else words
    if inside in ("Any", "object", "typing.Any"):
        return Type.UNKNOWN
    return _TYPES.get(inside, Type.RECORD)

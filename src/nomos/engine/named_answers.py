"""Names in a spec: of answers that the model never gives, of levels that it never saw."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from nomos.domain.domain import Domain
from nomos.errors import DomainError, NomosError
from nomos.lang import core

_SHOWN = 10  # classes, of many


def add_unseen_levels(spec: core.Spec, domain: Domain) -> None:
    """Let the schema hold the levels that a spec calls unseen, by their names.

    A model that gets the rows as they are has to know what their numbers stand for.
    """
    schema = domain.schema
    if schema is None:
        return
    opened = [f.name for f, _ in schema.open_categories if {*f.unseen} - schema.lent]
    lines = [let.value for let in spec.code.straight or ()]
    for node in chain(spec.nodes, *map(core.walk, lines)):
        if isinstance(node, core.SetFeature) and isinstance(node.key, core.Constant):
            levels = [n for n in core.walk(node.value) if isinstance(n, core.Unseen)]
            for level in levels:
                opened.append(schema.add_unseen(node.key.value, str(level.value)))
    for given in domain.verifies.values() if opened else ():
        name = given.partition(".")[0]
        if getattr(getattr(domain, name, None), "schema", None) is None:
            raise DomainError(
                f"`{opened[0]}` has unseen levels, and `{name}` gets rows of numbers: it would"
                " take the next number for them. Load it by load_model(..., schema=schema),"
                " which hands over names where the model knows them"
            )


def check_answers(
    spec: core.Spec, domain: Domain, declared: Callable[[str], tuple[Any, ...] | None]
) -> None:
    """Refuse what makes a spec hold by mistake: a misspelt name, an order of names.

    A number that is none of the classes is let pass: a model may have seen fewer.
    `declared` tells what the domain says that a function answers.
    """
    lines = {let.name: let.value for let in spec.code.straight or ()}
    tests = [one.test for one in spec.ensures] + [v.value for v in spec.later_variables]
    for node in (node for expr in tests for node in core.walk(expr)):
        if isinstance(node, core.Compare):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                call = lines.get(one.name) if isinstance(one, core.Variable) else None
                if isinstance(call, core.Call):
                    known = _classes_of_model(domain, call)
                    _check(call.function, node, other, declared(call.function) or known)
                    if node.levels and (more := set(known) - set(node.levels)):
                        raise NomosError(
                            f"`{call.function}` answers {min(more)!r}, too, which has"
                            f" no place in its order {', '.join(node.levels)}"
                        )


def _classes_of_model(domain: Domain, call: core.Call) -> tuple[Any, ...]:
    model = getattr(domain, domain.verifies.get(call.function, ""), None)
    known = getattr(model, "classes", getattr(model, "classes_", None))
    return () if known is None else tuple(np.asarray(known).tolist())


def _check(
    function: str, test: core.Compare, other: core.Expr, classes: Sequence[Any]
) -> None:
    value = other.value if isinstance(other, core.Constant) else None
    is_name = any(isinstance(one, str) for one in (value, *classes))
    if not classes or not is_name:
        return
    said = ", ".join(map(repr, classes[:_SHOWN])) + ", …" * (len(classes) > _SHOWN)
    if test.operator not in ("==", "!=") and not test.levels:
        raise NomosError(
            f"`{function}` answers with names, which `{test.operator}` compares by the "
            f'alphabet: say which is meant, as in `d1 == "{classes[0]}" ==> d2 == '
            f'"{classes[0]}"`, or give them an order in the domain: `classes = '
            f'{{"{function}": Ordinal(LOWEST, ..., HIGHEST)}}`; what its model answers: {said}'
        )
    if isinstance(other, core.Constant) and value not in classes:
        raise NomosError(
            f"`{function}` never answers {value!r}; what its model answers: {said}"
        )

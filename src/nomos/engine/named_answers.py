"""Names that a spec compares answers with, and that the model never answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.domain.domain import Domain
from nomos.errors import NomosError
from nomos.lang import core

_SHOWN = 10  # classes, of many


def check_answers(spec: core.Spec, domain: Domain) -> None:
    """Refuse a misspelt name: with it an implication would hold whatever is answered.

    A number that is none of the classes is let pass: a model may have seen fewer.
    """
    lines = {let.name: let.value for let in spec.code.straight or ()}
    told = [one.test for one in spec.ensures] + [v.value for v in spec.later_variables]
    for node in (node for expr in told for node in core.walk(expr)):
        if isinstance(node, core.Compare) and node.operator in ("==", "!="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                call = lines.get(one.name) if isinstance(one, core.Variable) else None
                if isinstance(call, core.Call) and isinstance(other, core.Constant):
                    _check(call.function, other.value, domain)


def _check(function: str, value: Any, domain: Domain) -> None:
    model = getattr(domain, domain.verifies.get(function, ""), None)
    known = getattr(model, "classes", getattr(model, "classes_", None))
    classes = [] if known is None else np.asarray(known).tolist()
    is_name = any(isinstance(one, str) for one in (value, *classes))
    if classes and is_name and value not in classes:
        said = ", ".join(map(repr, classes[:_SHOWN]))
        more = ", …" if len(classes) > _SHOWN else ""
        raise NomosError(
            f"`{function}` never answers {value!r}; what its model answers: {said}{more}"
        )

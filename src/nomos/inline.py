"""Specs and models without files: `nomos.run(spec, inputs=X, predict=clf.predict)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

from nomos import api
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Session
from nomos.diagnostics import Severity, Source
from nomos.domain.csvfile import quoted
from nomos.domain.domain import Domain, offer_of
from nomos.domain.find import Imported
from nomos.domain.functions import batched
from nomos.domain.table import Table, read_table
from nomos.errors import NomosError, SpecError
from nomos.lang.check import check_parsed
from nomos.lang.declarations import Value
from nomos.lang.params import bind_params
from nomos.lang.parse import parse
from nomos.report.notebook import ShownResult


@dataclass(frozen=True, slots=True)
class SpecText:
    """A spec that stands in a program instead of a file."""

    text: str
    name: str


def spec(text: str, *, name: str = "property") -> SpecText:
    """Return a spec written inline; it needs no `import`."""
    return SpecText(dedent(text).strip() + "\n", name)


def feature_of(record: str, feature: str) -> str:
    """Return the text that reads a feature, whatever its name."""
    if feature.isidentifier() and feature.isascii():
        return f"{record}.{feature}"
    return f"getFeat({record}, {quoted(feature)})"


def with_feature(record: str, feature: str, value: str) -> str:
    """Return the text for a copy of a record with another value of a feature."""
    if feature.isidentifier() and feature.isascii():
        return f"{record}[{feature} := {value}]"
    return f"setFeat({record}, {quoted(feature)}, {value})"


def run(
    spec: SpecText | str | Path,
    *,
    inputs: Any,
    labels: Sequence[Any] | None = None,
    params: Mapping[str, Value] | None = None,
    budget: int = 5000,
    seed: int = 0,
    **functions: Callable[..., Any],
) -> ShownResult:
    """Test functions against a spec, on inputs that are already there.

    `inputs` is a numpy array, a data frame of pandas or polars, a list of records
    (dicts, tuples, arrays, strings) or a torch data set. Each other keyword is a
    function of the spec, written for many: it gets what the model was trained on, an
    array, a frame or a list. Columns are features, by name or by number; those of an
    array are called f0, f1 and so on. `params` are values for the params of the spec.

    Raises SpecError where the spec is wrong.
    """
    if not functions:
        raise NomosError("give at least one function: predict=model.predict")
    text = _read(spec)
    domain = _domain(inputs, labels, functions)
    source = Source(f"{text.name}.nom", text.text)
    parsed = parse(source)
    libraries = api.read_libraries(parsed.spec, _folder(spec))
    offer = offer_of(domain)
    checked = check_parsed(source, parsed, text.name, offer, libraries=libraries)
    errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
    if checked.spec is None:
        if not errors:
            raise NomosError(f"{text.name} holds params and definitions alone")
        raise SpecError(checked.source, errors)
    session = Session(Path(), Options(budget=Budget(cases=budget)))
    imported = Imported(domain, {}, {})
    bound = bind_params(checked.spec, params or {})
    prepared = session.prepare(bound, imported, Path(f"{text.name}.nom"), {})
    result = ShownResult(prepared.subject, seed, budget)
    for _ in session.run(prepared, seed, result):
        pass
    return result


def _folder(spec: SpecText | str | Path) -> Path:
    """Return the folder that a spec's `use` is seen from: its own, if it is a file."""
    is_text = isinstance(spec, SpecText) or ("\n" in str(spec) or ";" in str(spec))
    return Path() if is_text else Path(str(spec)).parent


def _read(spec: SpecText | str | Path) -> SpecText:
    """Take a spec as it is given: text, or the path of a file."""
    if isinstance(spec, SpecText):
        return spec
    if isinstance(spec, str) and ("\n" in spec or ";" in spec):
        return SpecText(dedent(spec).strip() + "\n", "property")
    path = Path(spec)
    source, not_text = api.read_source(path)
    if not_text is not None:
        raise NomosError(f"{path} is not UTF-8 text: {not_text}")
    return SpecText(source.text, path.stem)


def _domain(
    inputs: Any, labels: Sequence[Any] | None, functions: dict[str, Callable[..., Any]]
) -> type[Domain]:
    """Return a domain made of what is at hand."""
    table = read_table(inputs)
    source: Any
    if table is not None:
        source = table.rows
    else:
        source, found = _records(inputs)
        labels = found if labels is None else labels
    listed = None if labels is None else np.asarray(labels).tolist()
    members: dict[str, Any] = {"inputs": lambda self: source}
    if table is not None:
        members["schema"] = table.schema
    if listed is not None:
        members["labels"] = lambda self: listed
    members |= {name: batched(_method(f, table)) for name, f in functions.items()}
    return type("Inline", (Domain,), members)


def _method(function: Callable[..., Any], table: Table | None) -> Callable[..., Any]:
    """Return a function as a domain's method: rows go back to what they were."""

    def method(self: Domain, *columns: Any) -> Any:
        if table is None:
            return function(*columns)
        width = table.schema.width
        return function(
            *(
                table.original(column)
                if isinstance(column, np.ndarray) and column.shape[1:] == (width,)
                else column
                for column in columns
            )
        )

    return method


def _records(inputs: Any) -> tuple[list[Any], list[Any] | None]:
    """Return the items of a sequence; those of a torch data set come with labels."""
    if not hasattr(inputs, "__len__") or not hasattr(inputs, "__getitem__"):
        kind = type(inputs).__name__
        raise NomosError(
            f"inputs must be a table or a sequence of records, not a {kind}"
        )
    items = [inputs[number] for number in range(len(inputs))]
    if items and isinstance(items[0], tuple) and _is_tensor(items[0][0]):
        records = [np.asarray(item[0]) for item in items]
        labels = [np.asarray(item[1]).tolist() for item in items if len(item) > 1]
        return records, labels or None
    return [np.asarray(item) if _is_tensor(item) else item for item in items], None


def _is_tensor(item: Any) -> bool:
    return hasattr(item, "detach") and hasattr(item, "__array__")

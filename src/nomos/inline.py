"""Specs and models without files: `nomos.run(spec, inputs=X, predict=clf.predict)`."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, cast

import numpy as np

from nomos import api
from nomos.accepted import MODEL, OPTIONS, SEED, SETTINGS, accept_option, meant
from nomos.diagnostics import Source
from nomos.domain.domain import Domain, offer_of
from nomos.domain.find import Imported
from nomos.domain.functions import batched, check_takes_many
from nomos.domain.reading.csvfile import quote_text
from nomos.domain.reading.table import (
    LARGEST_FRAME,
    Table,
    as_table,
    is_frame,
    sample_frame,
)
from nomos.errors import NomosError
from nomos.lang.checking.check import check_spec
from nomos.lang.checking.declarations import Value
from nomos.lang.reading.parse import parse_spec
from nomos.report.notebook import ShownResult
from nomos.runner.events import Handler
from nomos.runner.jobs import Job
from nomos.runner.options import Options
from nomos.runner.project.specs import LoadedSpec, load_libraries, load_source
from nomos.runner.projects import drive


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
    return f"getFeat({record}, {quote_text(feature)})"


def with_feature(record: str, feature: str, value: str) -> str:
    """Return the text for a copy of a record with another value of a feature."""
    if feature.isidentifier() and feature.isascii():
        return f"{record}[{feature} := {value}]"
    return f"setFeat({record}, {quote_text(feature)}, {value})"


def run(  # noqa: PLR0913 - keywords, each with a default
    spec: SpecText | str | Path,
    *,
    inputs: Any = None,
    labels: Sequence[Any] | None = None,
    domain: type[Domain] | None = None,
    params: Mapping[str, Value] | None = None,
    model: str | None = None,
    settings: Mapping[str, str] | None = None,
    seed: int = 0,
    store: bool | Path = True,
    budget: int | None = None,
    time: float | None = None,
    calls: int | None = None,
    until_bug: bool = False,
    search: str = "auto",
    jobs: int = 1,
    handlers: Sequence[Handler] = (),
    **functions: Any,
) -> ShownResult:
    """Test a model against a spec and return what was found.

    A spec's file is run with its domain; `model` and `settings` are those of the
    domain, and campaigns are kept as `store` says (see `run_specs`). `params` are
    values for the params of the spec.

    With `inputs`, the spec needs no domain. They are a numpy array, a data frame of
    pandas or polars (of more than a million rows a million are drawn), a list of records
    (dicts, tuples, arrays, strings) or a torch data set. Each other keyword is then a
    function of the spec, written for many: it gets what the model was trained on, an
    array, a frame or a list. Columns are features, by name or by number; those of an
    array are called f0, f1 and so on.

    `domain` is a class to run the spec with instead of the domain that it imports.
    `handlers` are called with each event.

    Raises SpecError where the spec is wrong.
    """
    limits: dict[str, Any] = {"budget": budget, "time": time, "calls": calls}
    limits |= {"until_bug": until_bug, "search": search, "jobs": jobs}
    named = [n for n in functions if n in OPTIONS and not callable(functions[n])]
    limits |= {n: functions.pop(n) for n in named}
    is_text = isinstance(spec, SpecText) or _is_spec_text(spec)
    if isinstance(inputs, str) and not is_text:
        limits["inputs"], inputs = inputs, None  # the spec's file has a domain
    seed = accept_option("seed", SEED, seed)
    settings = _texts_of(settings, params, model)
    wide: dict[str, int] = {}
    inputs, labels = _sample_inputs(inputs, labels, limits)
    domain = _choose_domain(domain, inputs, labels, functions, wide)
    if domain is None:
        if isinstance(spec, SpecText) or is_text:
            raise NomosError("a spec that stands in a program needs `inputs`")
        more = {"store": store, "handlers": handlers, **limits}
        found = api.run_specs(spec, settings=settings, seeds=[seed], **more)
        return api.only_result(found)
    options = api.campaign_options(**limits)
    _refuse_workers(options)
    job = _build_job(*_load_spec_text(spec), domain, settings)
    run = drive([job], [seed], root=Path(), options=options, handlers=handlers)
    if run.stopped:
        raise KeyboardInterrupt
    result = api.only_result(api.make_displayable(run))
    if wide and result.counts.crashed and not result.counts.evaluated:
        raise NomosError(_too_wide(*next(iter(wide.items()))))
    return result


def _sample_inputs(inputs: Any, labels: Any, limits: dict[str, Any]) -> tuple[Any, Any]:
    """Return the inputs and labels to use: of a very large frame some, for a search by chance."""
    is_large = is_frame(inputs) and len(inputs) > LARGEST_FRAME
    if not is_large or limits["search"] == "exhaustive":
        return inputs, labels
    warnings.warn(
        f"of {len(inputs):,} rows {LARGEST_FRAME:,} are drawn at random, and cases of"
        ' these; search="exhaustive" takes all of them',
        stacklevel=3,
    )
    if limits["search"] == "auto":  # cases of these rows are not all there are
        limits["search"] = "random"
    return sample_frame(inputs, labels)


def _texts_of(settings: Any, params: Any, model: Any) -> dict[str, str]:
    """Return the settings of a job, params and the model among them."""
    found: dict[str, str] = {
        **accept_option("settings", SETTINGS, settings),
        **accept_option("params", SETTINGS, params),
    }
    if model is not None:
        found["model"] = str(accept_option("model", MODEL, model))
    return found


def _refuse_workers(options: Options) -> None:
    """Raise NomosError for what functions at hand cannot do."""
    if not options.is_inline:
        raise NomosError(
            "functions at hand run in this process only: leave out `jobs`, `isolate`,"
            " `engine` and limits of workers, or write a domain file, which other"
            " processes can load"
        )
    if options.resume:
        raise NomosError("`resume` needs a store, which functions at hand have not")


def _too_wide(name: str, width: int) -> str:
    return (
        f"`{name}` answers with {width} numbers for each record, and the spec takes "
        f"them for one: give {name}=model.predict, or a function for one of them, "
        f"such as {name}=lambda rows: model.predict_proba(rows)[:, 1]"
    )


def _choose_domain(
    domain: type[Domain] | None,
    inputs: Any,
    labels: Sequence[Any] | None,
    functions: dict[str, Any],
    wide: dict[str, int],
) -> type[Domain] | None:
    """Return the domain that is at hand, None where the spec imports its own."""
    if domain is None and inputs is not None:
        _check_functions(functions)
        return _make_domain(inputs, labels, functions, wide)
    if inputs is not None:
        raise NomosError("a domain has inputs of its own: leave out `inputs`")
    if functions:
        _check_functions(functions)
        names = ", ".join(functions)
        raise NomosError(f"{names}: functions need `inputs` to be tested on")
    return domain


def _build_job(
    text: SpecText, folder: Path, domain: type[Domain], settings: Mapping[str, str]
) -> Job:
    """Return a spec with a domain that is at hand."""
    source = Source(f"{text.name}.nom", text.text)
    parsed = parse_spec(source)
    libraries, offer = load_libraries(parsed.spec, folder), offer_of(domain)
    checked = check_spec(source, text.name, offer, parsed=parsed, libraries=libraries)
    path = Path(source.name)
    loaded = LoadedSpec(path, checked, Imported(domain, {}, {}))
    loaded.runnable()
    return Job(path, settings, loaded, is_at_hand=True)


def _is_spec_text(spec: Any) -> bool:
    return isinstance(spec, str) and ("\n" in spec or ";" in spec)


def _check_functions(functions: dict[str, Any]) -> None:
    if not functions:
        raise NomosError("give at least one function: predict=model.predict")
    for name, given in functions.items():
        kind = type(given).__name__
        if isinstance(given, type):
            raise NomosError(f"{name} is the class {given.__name__}: give a function")
        if hasattr(given, "predict"):
            raise NomosError(
                f"{name} is a {kind}, and a function is wanted: {name}=model.predict"
            )
        if hasattr(given, "state_dict"):
            raise NomosError(
                f"{name} is a {kind} of torch, which takes no arrays: "
                f"{name}=nomos.load_model(model).predict"
            )
        if not callable(given):
            hint = meant(name, [*OPTIONS, *inspect.signature(run).parameters])
            raise NomosError(f"{name} is a {kind}, and a function is wanted{hint}")


def _load_spec_text(spec: SpecText | str | Path) -> tuple[SpecText, Path]:
    """Take a spec as it is given: text, or the path of a file.

    The second result is the folder that its `use` is seen from.
    """
    if isinstance(spec, SpecText):
        return spec, Path()
    if _is_spec_text(spec):
        return SpecText(dedent(str(spec)).strip() + "\n", "property"), Path()
    if not isinstance(cast(Any, spec), str | Path):
        kind = type(spec).__name__
        raise NomosError(f"a spec is a text or the path of a file, not a {kind}")
    path = Path(spec)
    source, not_text = load_source(path)
    if not_text is not None:
        raise NomosError(f"{path} is not UTF-8 text: {not_text}")
    return SpecText(source.text, path.stem), path.parent


def _make_domain(
    inputs: Any,
    labels: Sequence[Any] | None,
    functions: dict[str, Callable[..., Any]],
    wide: dict[str, int],
) -> type[Domain]:
    """Return a domain made of what is at hand.

    `wide` is told which functions answer with several numbers for a record.
    """
    table = as_table(inputs)
    source: Any
    members: dict[str, Any] = {"inputs": lambda self: source}
    if table is not None:
        source, members["schema"] = table.rows, table.schema
    else:
        source, found = _list_records(inputs)
        labels = found if labels is None else labels
    listed = None if labels is None else np.asarray(labels).tolist()
    if listed is not None:
        members["labels"] = lambda self: listed
    members["classes"] = {n: c for n, f in functions.items() if (c := _classes_of(f))}
    for name, function in functions.items():
        members[name] = batched(_build_method(name, function, table, wide))
    return type("Inline", (Domain,), members)


def _classes_of(function: Any) -> list[Any]:
    """Return the answers of a classifier whose own `predict` this is."""
    model = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") != "predict":
        return []
    classes = getattr(model, "classes_", getattr(model, "classes", None))
    if isinstance(classes, np.ndarray) and classes.ndim == 1:
        return list(classes.tolist())
    return []


def _build_method(
    name: str, function: Callable[..., Any], table: Table | None, wide: dict[str, int]
) -> Callable[..., Any]:
    """Return a function as a domain's method: rows go back to what they were.

    It says what is wrong with the function, if that takes one record only.
    """
    has_answered = False
    width = None if table is None else table.schema.width

    def restore_rows(column: Any) -> Any:
        is_rows = isinstance(column, np.ndarray) and column.shape[1:] == (width,)
        return column if table is None or not is_rows else table.original(column)

    def method(self: Domain, *columns: Any) -> Any:
        nonlocal has_answered
        given = tuple(restore_rows(column) for column in columns)
        try:
            answer = function(*given)
        except Exception:
            if not has_answered and given:
                check_takes_many(function, given, name)
            raise
        has_answered = True
        if isinstance(answer, np.ndarray) and answer.ndim == 2 and answer.shape[1] > 1:
            wide[name] = answer.shape[1]
        return answer

    return method


def _list_records(inputs: Any) -> tuple[list[Any], list[Any] | None]:
    """Return the items of a sequence; those of a torch data set come with labels."""
    kind = type(inputs).__name__
    if isinstance(inputs, str | Mapping):
        raise NomosError(f"inputs are a {kind}: give a frame, or a list of records")
    if hasattr(inputs, "to_list"):  # a column of a frame, which counts by its index
        inputs = inputs.to_list()
    if not hasattr(inputs, "__len__") or not hasattr(inputs, "__getitem__"):
        what = f"a table or a sequence of records, not a {kind}"
        raise NomosError(f"inputs must be {what}")
    items = [inputs[number] for number in range(len(inputs))]
    if items and isinstance(items[0], tuple) and _is_tensor(items[0][0]):
        records = [np.asarray(item[0]) for item in items]
        labels = [np.asarray(item[1]).tolist() for item in items if len(item) > 1]
        return records, labels or None
    return [np.asarray(item) if _is_tensor(item) else item for item in items], None


def _is_tensor(item: Any) -> bool:
    return hasattr(item, "detach") and hasattr(item, "__array__")

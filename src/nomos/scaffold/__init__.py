"""First steps: a domain and specs written for a model and a table that are at hand."""

import math
import os
import re
import site
import sys
import sysconfig
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from nomos.api import run_specs
from nomos.domain.dates import Dated
from nomos.domain.reading.cells import number
from nomos.domain.reading.csvfile import (
    Columns,
    feature_code,
    load_columns,
    quote_text,
    read_labels,
    read_rows,
)
from nomos.domain.schema import Category, Feature, Flag, Integer, OneHot, Real, Schema
from nomos.errors import NomosError
from nomos.inline import feature_of, with_feature
from nomos.models import load_model
from nomos.models.load import check_places
from nomos.report.texts import count_of
from nomos.scaffold.columns import TARGETS, Reading, read_for_model

_READ_LABELS = "\n        self._labels = read_labels(data, {})"
_LABELS = """
    def labels(self):
        \"\"\"Return what is right for each row: `nomos repair` needs it.\"\"\"
        return self._labels
"""
ASKED = 200  # rows, of which the model is asked to see its answers


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files of a first project: their names and texts, and what was found out."""

    files: dict[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleAnswers:
    """What a model answers with: words, whole numbers, or reals of some spread."""

    word: str | None = None
    margin: float = 0.0

    def rising_condition(self) -> tuple[str, str]:
        """Return what must hold of d1 and a d2 that is no worse, and what is worse."""
        if self.word is None:
            return "d1 <= d2", "gives a lower answer"
        word = quote_text(self.word)
        return f"d1 == {word} ==> d2 == {word}", f"takes {word} away"

    def alike_condition(self) -> tuple[str, str]:
        """Return what must hold of d1 and a d3 that is the same, and how much it is."""
        if not self.margin:
            return "d1 == d3", ""
        size = f"{self.margin:.12g}"
        return f"d1 - d3 <= {size} && d3 - d1 <= {size}", f", by more than {size}"


def scaffold_table(
    model: str, data: Path, folder: Path, label: str | None = None
) -> ProjectFiles:
    """Return a domain and specs for a model file and a CSV file; `label` is a column."""
    if label is not None:
        read_labels(data, label)  # which says what is wrong with it
    loaded = load_model(model)
    columns = load_columns(data, map(str, getattr(loaded, "columns", None) or ()))
    columns = {name: columns[name] for name in columns if name != label}
    width = getattr(loaded, "width", None)
    reading = read_for_model(loaded, columns, model, data)
    if not reading.features:
        raise NomosError(
            f"{data} has no column of numbers, or of a few different texts\n"
            "help: a model of texts, images or sounds needs a domain of your own, or"
            " `nomos.run(spec, inputs=texts, predict=model.predict)` in Python"
        )
    module = to_identifier(data.stem)
    loaded.schema = Schema(*reading.features)
    check_places(loaded, loaded.schema)
    rows = read_rows(data, loaded.schema, dtype=float)[:ASKED]
    answers, problem = sample_answers(loaded, rows)
    label = label or _guess_label(reading.unused, columns)
    files = {f"{module}.py": _table_domain(model, data, folder, reading, label)}
    files |= _spec_files(_table_specs(loaded.schema, module, answers, reading.about))
    length = len(next(iter(columns.values())))
    size = count_of(length, "row"), count_of(len(columns), "column")
    notes = [f"{data} has {' of '.join(size)}"]
    notes += _describe_columns(columns, reading, label, loaded)
    if getattr(loaded, "columns", None) is None and width is not None:
        notes.append(f"{model} takes {count_of(width, 'number')} a row")
    return ProjectFiles(files, (*notes, *problem))


def _spec_files(specs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """Return specs by their paths; columns of other scripts may leave one name for two."""
    files: dict[str, str] = {}
    for name, text in specs:
        path, count = f"specs/{name}.nom", 1
        while path in files:
            count += 1
            path = f"specs/{name}_{count}.nom"
        files[path] = text
    return files


def _describe_columns(
    columns: Columns, reading: Reading, label: str, model: Any
) -> list[str]:
    """Return what to say of the columns of a table."""
    notes = [
        f"its column `{name}` is {'taken for what is right' if name == label else 'not used'}"
        for name in reading.unused
    ]
    if reading.unused and not label:
        notes.append("if one of these has the right answers, say so with --label")
    gaps = [f.name for f in reading.features if f.takes_missing]
    notes += [f"its column `{name}` has missing values" for name in gaps]
    mixed = (_note_mixed_column(feature, columns) for feature in reading.features)
    notes += filter(None, mixed)
    notes += _note_level_numbers(model, columns)
    return notes


def _note_mixed_column(feature: Feature, columns: Columns) -> str:
    """Return what to say of a column of numbers that one text has made one of names."""
    if not isinstance(feature, Category):
        return ""
    read = {cell: number(cell) for cell in {*columns.get(feature.name, ())}}
    texts = [cell for cell, value in read.items() if value is None]
    numbers = [v for v in read.values() if v is not None and not math.isnan(v)]
    if not 0 < len(texts) < len(numbers):
        return ""
    return f"its column `{feature.name}` is taken for names: {texts[0]!r} is no number"


def _note_level_numbers(model: Any, columns: Columns) -> list[str]:
    """Say which number a model gets for a name or a date, where it gets numbers."""
    gets_names = getattr(model, "gets_names", lambda place: False)
    notes = [
        f"the model gets numbers for `{one.name}`, and must have been trained so: "
        f"0 for {one.levels[0]!r}, … {len(one.levels) - 1} for {one.levels[-1]!r}"
        for one in model.schema.features
        if isinstance(one, Category)
        and not gets_names(model.schema.place(one.name)[1].start)
    ]
    notes += [
        f"the model gets {len(one.levels)} numbers for `{one.name}`, one for each level"
        " (one-hot), and must have been trained so"
        for one in model.schema.features
        if isinstance(one, OneHot) and one.name in columns
    ]
    dates = [f"`{f.name}`" for f in model.schema.features if isinstance(f, Dated)]
    if dates and getattr(model, "date_kind", "days") == "days":
        notes.append(
            f"the model gets the days since 1970-01-01 for {', '.join(dates)}, and must"
            " have been trained so (else convert them in `predict`)"
        )
    return notes


def _guess_label(unused: Sequence[str], columns: Columns) -> str:
    """Return the column of right answers: it is called so, or it alone is left."""
    called = [name for name in unused if name.lower() in TARGETS]
    name = called[-1] if called else unused[0] if len(unused) == 1 else ""
    cells = columns.get(name, [""])
    return "" if any(math.isnan(number(cell) or 0) for cell in cells) else name


def _table_domain(
    model: str, data: Path, folder: Path, reading: Reading, label: str
) -> str:
    features, lines = reading.features, []
    for feature in features:
        why = reading.about.get(feature.name)
        lines.append(f"        {feature_code(feature)}," + f"  # {why}" * bool(why))
    path = _path_code(model, folder)
    unused = [name for name in reading.unused if name != label]
    return fill_domain(
        "domain",
        *(model, data, folder),
        kinds=", ".join(sorted({type(feature).__name__ for feature in features})),
        imports="import sys\n" * bool(path),
        path=path,
        example=next((f.name for f in features if f.name.isidentifier()), "name"),
        features="\n".join(lines),
        unused=f"    # Not used: {', '.join(map(one_line, unused))}.\n" * bool(unused),
        readers="read_labels, read_rows" if label else "read_rows",
        read_labels=_READ_LABELS.format(quote_text(label)) if label else "",
        labels=_LABELS if label else "",
    )


def _path_code(model: str, folder: Path) -> str:
    """Return the lines that let the domain find the module of a model, where it must."""
    if Path(model).exists() or ":" not in model or "//" in model:
        return ""
    name = model.rpartition("@")[2].partition(":")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return ""
    root = Path(file).resolve().parents[name.count(".") + file.endswith("__init__.py")]
    if root in map(Path, (*site.getsitepackages(), sysconfig.get_path("stdlib"))):
        return ""
    return f"sys.path.append(str(HERE / {quote_text(relative_path(root, folder))}))\n"


def sample_answers(model: Any, rows: Any) -> tuple[SampleAnswers, tuple[str, ...]]:
    """Ask the model for some rows, to see what it answers with, or that it does not."""
    try:
        answers = np.asarray(model.predict(rows))
    except Exception as error:  # whatever a model raises
        first = str(error).split("\n")[0]
        said = f"the model has no answer for the first rows: {first}"
        remedy = (
            "give it rows as in its training: mend the domain's schema or `predict`"
        )
        return SampleAnswers(), (f"{said}\nhelp: {remedy}",)
    if answers.dtype.kind in "UO":
        return SampleAnswers(word=str(sorted(map(str, answers.tolist()))[-1])), ()
    if answers.dtype.kind != "f" or (answers == np.rint(answers)).all():
        return SampleAnswers(), ()
    spread = float(np.nanstd(answers)) / 10
    return SampleAnswers(margin=float(f"{spread:.1g}") if spread > 0 else 0.0), ()


def _table_specs(
    schema: Schema,
    module: str,
    answers: SampleAnswers,
    about: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[str, str]]:
    """Yield specs that run at once, one for each kind of feature there is."""
    rising, worse = answers.rising_condition()
    alike, by = answers.alike_condition()
    ready = [f for f in schema.features if about.get(f.name, "a code") == "a code"]
    ranged = [f for f in ready if isinstance(f, Integer | Real) and f.high > f.low]
    dates = [f for f in ranged if isinstance(f, Dated)]
    numeric = [f for f in ranged if f not in dates]
    codes: list[Feature] = [f for f in numeric if f.name in about]
    codes += [f for f in numeric if isinstance(f, Integer) and f.high - f.low <= 1]
    numeric = [f for f in numeric if f not in codes]  # 1 and 2 are no amounts
    numeric.sort(key=lambda f: isinstance(f, Real))  # whole numbers read best
    others = [f for f in ready if isinstance(f, Flag | Category | OneHot)]
    of = partial(_fill_template, module)
    for one in numeric[:2]:
        words = {"ensures": rising, "worse": worse, "high": repr(one.high)}
        yield _named("higher_{}", one), of("higher", one, step=_step_code(one), **words)
    same = {"ensures": alike, "by": by}
    for group in [*others, *codes][:1]:
        apart = f"{feature_of('x1', group.name)} != v2"
        text = of("indifferent", group, record="x2", differ=apart, **same)
        yield _named("indifferent_to_{}", group), text
    for gap in [f for f in ready if f.takes_missing][:1]:
        yield _named("without_{}", gap), of("without", gap, value="missing", **same)
    for date in dates[:1]:
        same["ensures"] = alike.replace("d3", "d2")
        last = quote_text(date.show_value(date.high))
        yield _named("{}_a_day_later", date), of("later", date, high=last, **same)


def _named(pattern: str, feature: Feature) -> str:
    return pattern.format(to_identifier(feature.name))


def _fill_template(
    module: str,
    name: str,
    feature: Feature,
    *,
    record: str = "x1",
    value: str = "v2",
    **words: str,
) -> str:
    """Return a spec of a feature: that of a record is read, and set to a value."""
    return load_template(name).format(
        feature=one_line(feature.name),
        module=module,
        get=feature_of(record, feature.name),
        set=with_feature("x1", feature.name, value),
        **words,
    )


def _step_code(feature: Integer | Real) -> str:
    """Return the draw of an amount to raise a feature by, on its own scale."""
    span = float(feature.high) - float(feature.low)
    if isinstance(feature, Integer):
        most = max(1, min(1000, round(span / 4))) if span < 1e9 else 1000
        return f"randInt(1, {most})"
    return f"randReal({float(f'{span / 400:.2g}')!r}, {float(f'{span / 4:.2g}')!r})"


def drop_failing_specs(paths: Sequence[Path]) -> Iterator[str]:
    """Run each spec on a few cases and remove those that cannot be run; yield why.

    Where none can, the model is at fault, and they stay for when it is mended.
    """
    few: dict[str, Any] = {"budget": ASKED, "confirm": 1, "groups": False}
    ran = run_specs(list(paths), store=False, shrink=False, **few)
    failed = {failure.job.path: str(failure.error) for failure in ran.failures}
    for path, result in zip((p for p in paths if p not in failed), ran, strict=True):
        why = result.crashes[0].error if result.crashes else result.problem
        if why or not result.counts.evaluated:
            failed[path] = why or "no case came to its `ensures`"
    stay = len(failed) == len(paths)
    for why in dict.fromkeys(failed.values()):  # one cause is said once
        of_cause = [path for path, reason in failed.items() if reason == why]
        said = ("does not run yet", "is left out")
        if len(of_cause) > 1:
            said = ("do not run yet", "are left out")
        yield f"{', '.join(map(str, of_cause))} {said[not stay]}: {why}"
        for path in () if stay else of_cause:
            path.unlink()


def load_template(name: str) -> str:
    """Return the text of a file to write, with names in braces for what is filled in."""
    folder = resources.files(__package__).joinpath("templates")
    return folder.joinpath(f"{name}.template").read_text("utf-8")


def fill_domain(
    template: str, model: str, data: Path, folder: Path, **words: str
) -> str:
    """Return the file of a domain, called after its data."""
    module = to_identifier(data.stem)
    return load_template(template).format(
        module=module,
        name=module.title().replace("_", ""),
        about=one_line(data.name),
        data=quote_text(relative_path(data, folder)),
        model=_model_code(model, folder),
        **words,
    )


def one_line(name: str) -> str:
    """Return a name that may stand in a comment or a docstring."""
    return re.sub(r'[\s"\\]+', " ", name).strip()


def to_identifier(text: str) -> str:
    """Return a name for a module or a spec."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    made = re.sub(r"[^a-z0-9_]+", "_", plain.lower()).strip("_") or "rows"
    return made if not made[0].isdigit() else f"t_{made}"


def _model_code(model: str, folder: Path) -> str:
    """Return the Python expression of a model: a file beside the domain, or a name."""
    if Path(model).exists():
        return f"str(HERE / {quote_text(relative_path(Path(model), folder))})"
    return quote_text(model)


def relative_path(path: Path, folder: Path) -> str:
    """Write a path from the new project's folder, so that both can be moved together."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return path.resolve().as_posix()


def example_project() -> ProjectFiles:
    """Return a project that runs by itself, with a model that has a bug."""
    schema = Schema(
        Integer("age", 18, 79), Integer("income", 10, 119), Flag("owns_home")
    )
    files = {f"{name}.py": load_template(name) for name in ("loan_model", "loans")}
    files |= {
        f"specs/{name}.nom": text
        for name, text in _table_specs(schema, "loans", SampleAnswers())
    }
    own = "for your own model: nomos init --model MODEL --data ROWS.csv"
    return ProjectFiles(files, (f"this is an example with a bug in it; {own}",))

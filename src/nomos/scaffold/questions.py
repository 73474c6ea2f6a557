"""A first project for a language model: a table of texts, and a prompt to put them in.

No more than a few requests are sent: the first texts are asked, to see what the answers
look like. The specs are tried with a stand-in that costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomos.api import run_specs
from nomos.domain.reading.csvfile import Columns, load_columns, quote_text
from nomos.errors import NomosError, Unreadable
from nomos.models import load_model
from nomos.models.serving.prices import find_price
from nomos.relations import text_relation
from nomos.report.texts import count_of
from nomos.runner.project.config import load_config
from nomos.scaffold import (
    ProjectFiles,
    load_template,
    model_code,
    one_line,
    relative_path,
    to_identifier,
)
from nomos.texts import TextChanges, fill_template, read_label, read_number
from nomos.texts.reading import find_placeholders

STAND_IN = "nomos.scaffold.questions:repeat_texts"
_ASKED = 3  # texts that the model is asked
_BUDGET = 100  # cases of a first run
_MOST_LABELS = 12
_LETTERS_A_TOKEN, _TOKENS_ANSWERED = 4, 20  # about
_ALWAYS = ("capitals", "typos", "politeness", "irrelevant")
_SOMETIMES: dict[
    str, Callable[[str], str]
] = {  # where a tenth of the texts can be changed so
    "order": TextChanges.options_swapped,
    "groups": TextChanges.in_other_group,
    "paraphrase": lambda text: TextChanges.reworded(text, 0),
}
_RIGHT = """# How often the model is right: a rate to read the others beside.
import {module};

input x1;  # a text of the data, drawn at random
output d1;

{{
  d1 = answer(x1)
}}

ensures d1 == label(x1);
"""
_LABELS = """
    def labels(self):
        \"\"\"Return what is right for each text.\"\"\"
        return {}
"""


def repeat_texts(texts: Sequence[str]) -> list[str]:
    """Answer like no model: what specs are tried with."""
    return list(texts)


@dataclass(frozen=True, slots=True)
class _Questions:
    """A table of texts, and the prompt that they are put into."""

    columns: Columns
    prompt: str
    names: tuple[str, ...]  # of the columns that the prompt asks for

    @property
    def prompts(self) -> list[str]:
        """The filled prompts, one for each row."""
        rows = zip(*(self.columns[name] for name in self.names), strict=True)
        filled = [dict(zip(self.names, map(str, row), strict=True)) for row in rows]
        return [fill_template(self.prompt, row) for row in filled]

    @property
    def texts(self) -> list[str]:
        """What an input is: the only column, or the whole prompt."""
        if len(self.names) > 1:
            return self.prompts
        return [str(text) for text in self.columns[self.names[0]]]


def scaffold_questions(
    model: str, data: Path, prompt: Path, folder: Path, label: str | None
) -> ProjectFiles:
    """Return a domain and specs for a language model, a table of texts and a prompt."""
    columns, template = load_columns(data), _read_prompt(prompt)
    names = tuple(dict.fromkeys(find_placeholders(template)))
    _check_columns(data, columns, prompt, (names, label))
    asked = _Questions(columns, template, names)
    said, notes = _ask_first_texts(model, asked)
    answers = [str(cell) for cell in columns[label]] if label else said
    read, constants = _choose_reading(answers, is_closed=label is not None)
    unread = [one for one in _read_all(said, read, answers) if _is_unread(one)]
    if unread:
        notes.append(
            f"{len(unread)} of {len(said)} answers are unreadable: {unread[0]}"
        )
    module = to_identifier(data.stem)
    domain = load_template("questions").format(
        module=module,
        name=module.title().replace("_", ""),
        about=one_line(data.name),
        imports=", ".join(sorted({"fill_template", read})),
        constants=constants,
        model=model_code(model, folder),
        data=quote_text(relative_path(data, folder)),
        prompt=quote_text(relative_path(prompt, folder)),
        inputs=_inputs_code(names),
        labels=_LABELS.format(_labels_code(read, label)) if label else "",
        asked=_asked_code(names),
        read=_reading_code(read, "said"),
    )
    files = {f"{module}.py": domain, **dict(_write_specs(module, asked.texts, label))}
    length = len(asked.texts)
    notes.insert(0, f"{data} has {count_of(length, 'text')}")
    notes.append(_estimate_cost(model, asked, len(files) - 1, folder))
    return ProjectFiles(files, tuple(notes))


def _check_columns(
    data: Path,
    columns: Columns,
    prompt: Path,
    asked: tuple[tuple[str, ...], str | None],
) -> None:
    """Refuse a table that has not what a prompt and a label ask for."""
    (names, label), known = asked, ", ".join(columns)
    if not names or not {*names} <= columns.keys():
        raise NomosError(
            f"{prompt} must say where a column of {data} goes, as in {{question}}; the"
            f" columns are {known}"
        )
    if label is not None and label not in columns:
        raise NomosError(f"{data} has no column {label!r}: there are {known}")
    if not len(columns[names[0]]):
        raise NomosError(f"{data} has no rows")


def _read_prompt(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise NomosError(f"{path} is no text in UTF-8: {error}") from None


def _ask_first_texts(model: str, asked: _Questions) -> tuple[list[str], list[str]]:
    """Ask the model a few texts; return what it said, and what is to be said of it."""
    prompts = asked.prompts[:_ASKED]
    try:
        said = [str(one) for one in load_model(model).predict(prompts)]
    except Exception as error:  # whatever a model raises
        why = str(error).split("\n")[0]
        return [], [f"the model has no answer for the first texts: {why}"]
    shown = [" ".join(one.split())[:60] for one in said]
    return said, [f"asked {count_of(len(said), 'text')}, it said: {' | '.join(shown)}"]


def _choose_reading(answers: Sequence[str], *, is_closed: bool) -> tuple[str, str]:
    """Return the function that reads answers, and the constant that it needs."""
    if answers and not any(map(_is_unread, read_number(answers))):
        return "read_number", ""
    labels = sorted(set(answers))
    if is_closed and len(labels) <= _MOST_LABELS:
        return "read_label", f"LABELS = {labels!r}\n"
    return "normalize_text", ""


def _read_all(said: Sequence[str], read: str, answers: Sequence[str]) -> list[Any]:
    if read == "read_label":
        return list(read_label(said, sorted(set(answers))))
    return list(read_number(said)) if read == "read_number" else []


def _is_unread(found: Any) -> bool:
    return isinstance(found, Unreadable)


def _reading_code(read: str, texts: str) -> str:
    if read == "normalize_text":
        return f"[normalize_text(one) for one in {texts}]"
    return f"{read}({texts}{', LABELS' if read == 'read_label' else ''})"


def _labels_code(read: str, label: str | None) -> str:
    cells = f"self.columns[{quote_text(label or '')}]"
    return f"list({cells})" if read == "read_label" else _reading_code(read, cells)


def _inputs_code(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"list(self.columns[{quote_text(names[0])}])"
    return (
        "[\n            fill_template(self.prompt, dict(zip(self.columns, row, strict=True)))"
        "\n            for row in zip(*self.columns.values(), strict=True)\n        ]"
    )


def _asked_code(names: Sequence[str]) -> str:
    if len(names) > 1:
        return "texts"
    filled = f"fill_template(self.prompt, {{{quote_text(names[0])}: one}})"
    return f"\n            [{filled} for one in texts]\n        "


def _write_specs(
    module: str, texts: Sequence[str], label: str | None
) -> Iterator[tuple[str, str]]:
    """Yield specs of the changes that the texts can have."""
    some = texts[:100]
    apt = [
        kind
        for kind, change in _SOMETIMES.items()
        if sum(change(text) != text for text in some) * 10 >= len(some)
    ]
    for kind in [*apt, *_ALWAYS]:
        first, rest = text_relation(kind).text.split("\n", 1)
        yield f"specs/{kind}.nom", f"{first}\nimport {module};\n\n{rest}"
    if label is not None:
        yield "specs/right.nom", _RIGHT.format(module=module)


def _estimate_cost(model: str, asked: _Questions, specs: int, folder: Path) -> str:
    """Say what a first run would send, and what it would cost where that is known."""
    prompts = asked.prompts
    requests = specs * _BUDGET + min(_BUDGET, len(prompts))
    letters = sum(map(len, prompts)) / len(prompts)
    tokens = round(letters / _LETTERS_A_TOKEN)
    said = (
        f"{count_of(specs, 'spec')} of {_BUDGET} cases: about {requests:,} requests of"
        f" about {tokens:,} tokens; an answer may have 1,024, or as `?max_tokens=20` says"
    )
    name = model.partition(":")[2].partition("@http")[0].partition("?")[0]
    price = find_price(name, load_config(folder).prices)
    if price is None:
        return f"{said}; no price is known ([tool.nomos.prices])"
    cost = price.cost_of(tokens, _TOKENS_ANSWERED) * requests
    return f"{said}; about {cost:.2f} with answers of {_TOKENS_ANSWERED} tokens"


def try_specs(paths: Sequence[Path]) -> Iterator[str]:
    """Run each spec with a stand-in for the model; yield what cannot be run, and why."""
    how: dict[str, Any] = {"groups": False, "shrink": False, "recheck": False}
    ran = run_specs(list(paths), models=[STAND_IN], store=False, budget=10, **how)
    for failure in ran.failures:
        yield f"{failure.job.path} does not run yet: {failure.error}"
    for result in ran:
        for crash in [one for one in result.crashes if not one.is_unreadable][:1]:
            yield f"{result.subject.spec} does not run yet: {crash.error}"

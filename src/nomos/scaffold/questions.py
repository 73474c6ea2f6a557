"""A first project for a language model: a table of texts, and a prompt to put them in.

No more than a few requests are sent: the first prompts are asked, to see what the answers
look like. The specs are tried with a stand-in that costs nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nomos.api import run_specs
from nomos.domain.reading.csvfile import load_columns, quote_text
from nomos.errors import NomosError, Unreadable
from nomos.models import load_model
from nomos.models.serving.prices import find_price
from nomos.relations import text_relation
from nomos.report.texts import count_of
from nomos.runner.project.config import load_config
from nomos.scaffold import (
    ProjectFiles,
    fill_domain,
    load_template,
    relative_path,
    to_identifier,
)
from nomos.texts import TextChanges, fill_template, read_label, read_number
from nomos.texts.reading import find_placeholders

STAND_IN = "nomos.scaffold.questions:repeat_texts"
_ASKED, _BUDGET = 3, 100  # prompts that are sent, cases of a first run
_MOST_LABELS = 12
_LETTERS_A_TOKEN, _TOKENS_ANSWERED = 4, 20  # about
_ALWAYS = ("capitals", "typos", "politeness", "irrelevant")
_SOMETIMES: dict[str, Callable[[str], str]] = {  # where the prompts can be changed so
    "order": TextChanges.options_swapped,
    "groups": TextChanges.in_other_group,
    "paraphrase": lambda text: TextChanges.reworded(text, 0),
}
_READINGS = {  # what a domain does with answers, by the function that it needs
    "read_label": "read_label(said, LABELS)",
    "read_number": "read_number(said)",
    "normalize_text": "[normalize_text(one) for one in said]",
}
_RIGHT = """
    def labels(self):
        \"\"\"Return what is right for each prompt.\"\"\"
        said = self.columns[{}]
        return {}
"""


def repeat_texts(texts: Sequence[str]) -> list[str]:
    """Answer like no model: what specs are tried with."""
    return list(texts)


def scaffold_questions(
    model: str, data: Path, prompt: Path, folder: Path, label: str | None
) -> ProjectFiles:
    """Return a domain and specs for a language model, a table of texts and a prompt."""
    columns = {n: list(map(str, cells)) for n, cells in load_columns(data).items()}
    prompts = _fill_prompts(data, columns, prompt, label)
    said, notes = _ask_first(model, prompts[:_ASKED])
    labels = sorted(set(columns[label])) if label else []
    read = "normalize_text"
    if not any(_is_unread(one) for one in read_number(labels or said)):
        read = "read_number"
    elif 0 < len(labels) <= _MOST_LABELS:
        read = "read_label"
    found = read_label(said, labels) if read == "read_label" else read_number(said)
    unread = [one for one in found if _is_unread(one)]
    if unread and read != "normalize_text":
        some = f"{len(unread)} of {len(said)} answers"
        notes.append(f"{some} are unreadable: {unread[0]}")
    module, code = to_identifier(data.stem), _READINGS[read]
    right = code if read != "read_label" else "list(said)"
    domain = fill_domain(
        "questions",
        *(model, data, folder),
        imports=", ".join(sorted({"fill_template", read})),
        constants=f"LABELS = {labels!r}\n" if read == "read_label" else "",
        prompt=quote_text(relative_path(prompt, folder)),
        right=_RIGHT.format(quote_text(label), right) if label else "",
        read=code,
    )
    specs = dict(_write_specs(module, prompts, is_labelled=label is not None))
    notes = [f"{data} has {count_of(len(prompts), 'text')}", *notes]
    notes.append(_estimate_cost(model, prompts, len(specs), folder))
    return ProjectFiles({f"{module}.py": domain, **specs}, tuple(notes))


def _fill_prompts(
    data: Path, columns: dict[str, list[str]], prompt: Path, label: str | None
) -> list[str]:
    """Return the prompt with each row; refuse what cannot be filled."""
    try:
        template, known = prompt.read_text("utf-8"), ", ".join(columns)
    except UnicodeDecodeError as error:
        raise NomosError(f"{prompt} is no text in UTF-8: {error}") from None
    names = {*find_placeholders(template)}
    if not names or not names <= columns.keys():
        raise NomosError(
            f"{prompt} must say where a column of {data} goes, as in {{question}}; the"
            f" columns are {known}"
        )
    if label is not None and label not in columns:
        raise NomosError(f"{data} has no column {label!r}: there are {known}")
    rows = zip(*columns.values(), strict=True)
    named = (dict(zip(columns, row, strict=True)) for row in rows)
    filled = [fill_template(template, values) for values in named]
    if not filled:
        raise NomosError(f"{data} has no rows")
    return filled


def _ask_first(model: str, prompts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Send a few prompts; return what the model said, and what is to be said of it."""
    try:
        said = [str(one) for one in load_model(model).predict(prompts)]
    except Exception as error:  # whatever a model raises
        why = str(error).split("\n")[0]
        return [], [f"the model has no answer for the first texts: {why}"]
    shown = [" ".join(one.split())[:60] for one in said]
    return said, [f"asked {count_of(len(said), 'text')}, it said: {' | '.join(shown)}"]


def _is_unread(found: Any) -> bool:
    return isinstance(found, Unreadable)


def _write_specs(
    module: str, prompts: Sequence[str], *, is_labelled: bool
) -> Iterator[tuple[str, str]]:
    """Yield specs of the changes that a tenth of the prompts, or more, can have."""
    some = prompts[:100]
    apt = [
        kind
        for kind, change in _SOMETIMES.items()
        if sum(change(text) != text for text in some) * 10 >= len(some)
    ]
    for kind in [*apt, *_ALWAYS]:
        first, rest = text_relation(kind).text.split("\n", 1)
        yield f"specs/{kind}.nom", f"{first}\nimport {module};\n\n{rest}"
    if is_labelled:
        yield "specs/right.nom", load_template("right").format(module=module)


def _estimate_cost(model: str, prompts: Sequence[str], specs: int, folder: Path) -> str:
    """Say what a first run would send, and what it would cost where that is known."""
    requests = specs * _BUDGET + min(_BUDGET, len(prompts))
    tokens = round(sum(map(len, prompts)) / len(prompts) / _LETTERS_A_TOKEN)
    most = re.search(r"[?&]max_(?:completion_)?tokens=(\d+)", model)
    says = most[1] if most else "1,024, or as `?max_tokens=20` says"
    said = (
        f"{count_of(specs, 'spec')} of {_BUDGET} cases: about {requests:,} requests of"
        f" about {tokens:,} tokens; an answer may have {says}"
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

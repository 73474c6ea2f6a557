"""The section that somebody signs: what was asked of which model, and what came of it.

It is for a reader who has never seen a spec. Each of its numbers is one of the view's, so
that the section says nothing that the rest of the page does not.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nomos.report.texts import count_of
from nomos.report.view import PropertyView
from nomos.results.gate import Ruling
from nomos.results.result import Result
from nomos.results.verdict import proof_text, tried_text

_GATE = {0: "passes", 1: "does not pass"}
_ANSWERS = {
    "violated": "violated",
    "none-found": "without a violation that was found",
    "holds": "shown to hold",
    "undecided": "undecided",
    "failed": "without a verdict",
}


@dataclass(frozen=True, slots=True)
class AskedRow:
    """What was asked by one spec, and what came of it."""

    asked: str
    source: str  # the spec and its fingerprint
    verdict: str
    meaning: str
    rate: str
    problems: tuple[str, ...]
    proved: str
    gate: str
    weighed: str  # what the gate compared


@dataclass(frozen=True, slots=True)
class SignOff:
    """The section in words."""

    summary: str
    rows: tuple[AskedRow, ...]
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    commands: tuple[str, ...]


def build_sign_off(views: Sequence[PropertyView], rulings: Sequence[Ruling]) -> SignOff:
    """Return the section of these properties, as a gate rules on their results."""
    status = {id(r): ruling for ruling in rulings for r in ruling.results}
    rows = tuple(_asked_row(one, status[id(one.first)]) for one in views)
    worst = max(ruling.status for ruling in rulings)
    counted = {
        words: sum(one.verdict == verdict for one in views)
        for verdict, words in _ANSWERS.items()
    }
    answers = ", ".join(f"{n:,} {words}" for words, n in counted.items() if n)
    asked = count_of(len(views), "property was", "properties were")
    results = [result for one in views for result in one.results]
    models = ", ".join(dict.fromkeys(r.subject.model or "the model" for r in results))
    return SignOff(
        f"{asked} tested of {models}: {answers}. The gate {_gate_words(worst)}.",
        rows,
        tuple(_list_facts(results)),
        tuple(dict.fromkeys(_command_of(result) for result in results)),
    )


def _gate_words(status: int) -> str:
    return _GATE.get(status, "cannot decide")


def _asked_row(one: PropertyView, ruling: Ruling) -> AskedRow:
    first, proof = one.first, one.first.proof
    mark = first.fingerprint.get("spec")
    return AskedRow(
        first.subject.description or one.name,
        first.subject.spec + (f", fingerprint {mark}" if mark else ""),
        one.verdict,
        one.meaning,
        _describe_rate(one),
        tuple(remark.text for remark in one.remarks if remark.is_problem),
        "nothing" if proof is None else proof_text(proof).partition("\n")[0],
        _gate_words(ruling.status),
        ruling.said,
    )


def _describe_rate(one: PropertyView) -> str:
    """Return how often cases fail, without what a proof says beside it."""
    if one.verdict == "failed":
        return one.rate
    if not any(result.counts.tests for result in one.results):
        return "no case was tried"
    return tried_text(one.results, [r.counts.violations for r in one.results])


def _list_facts(results: Sequence[Result]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield what a reader needs to find all of it again, each value once."""
    marks = [result.fingerprint for result in results]
    models = [_with_mark(r.subject.model, r.fingerprint.get("model")) for r in results]
    domains = [
        _with_mark(r.subject.domain, r.fingerprint.get("domain")) for r in results
    ]
    data = [_with_mark(mark.get("data", ""), mark.get("inputs")) for mark in marks]
    dates = sorted(result.finished[:10] for result in results if result.finished)
    yield "model", _each_once(models)
    yield "data", _each_once(data)
    yield "domain", _each_once(domains)
    yield "versions", _each_once(mark.get("versions", "") for mark in marks)
    yield "seeds", (", ".join(map(str, sorted({r.seed for r in results}))),)
    yield "tested on", _each_once(dates)


def _with_mark(name: str, mark: str | None) -> str:
    """Return a name with its fingerprint; a model that is no file has none."""
    own = f"fingerprint {mark}" if mark and mark != name else "no fingerprint"
    return f"{name}, {own}" if name else own


def _each_once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, values))) or ("not recorded",)


def _command_of(result: Result) -> str:
    """Return the command that runs a campaign again."""
    subject = result.subject
    settings = dict(subject.settings)
    words = ["nomos", "verify" if result.search == "proof" else "run", subject.spec]
    if "model" in settings:
        words += ["--model", settings.pop("model")]
    words += [word for n, v in settings.items() for word in ("--set", f"{n}={v}")]
    if result.search != "proof":
        words += ["--seed", str(result.seed), "--budget", str(result.budget)]
        words += ["--search", result.search]
    words += ["--trust"] * ("trust" in result.fingerprint)
    return shlex.join(words)

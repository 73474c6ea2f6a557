"""A repair as tables to read and as data to keep."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from nomos.results.statistics import Interval
from nomos.results.verdict import proof_text
from nomos.train.evaluate import Evaluation, Quality
from nomos.train.repair import Repair, Repairing
from nomos.train.rounds import Round


def result_parts(result: Repair) -> Iterator[Table | str]:
    """Yield what came of a repair: its price, what is to be said of it, and its verdict."""
    if result.verdict != "clean":
        yield _trade_off(result)
    for name, note in result.notes.items():
        yield f"note: {name}: {note}"
    for name, proof in result.proofs.items():
        yield f"{name}: {proof_text(proof)}"
    yield f"{result.verdict}: {result.statement}"
    if result.path is not None:
        yield f"written: {result.path}"


def _trade_off(result: Repair) -> Table:
    """Return what was gained and what it cost, on records that were not trained on."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("not trained on", "before", "after"):
        table.add_column(title)
    before, after = result.before, result.after
    for name, rate in before.rates.items():
        rose = after.rates[name].value > rate.value
        colour = "red" if rose else "green" if rate.count else "dim"
        table.add_row(
            name, _show_rate(before, name), Text(_show_rate(after, name), style=colour)
        )
    table.add_section()
    qualities = before.quality, after.quality
    table.add_row(qualities[0].name, *map(_show_quality, qualities))
    if qualities[0].scale:
        table.add_row("RMSE", *(f"{own.rmse:.4g}" for own in qualities))
    return table


def _show_rate(evaluation: Evaluation, name: str) -> str:
    rate = evaluation.rates[name]
    if not rate.total:
        return "no cases"
    value = f"{100 * rate.value:.2f} %"
    if rate.exact:
        return f"{value} (all {rate.total:,} cases)"
    return f"{value} ({_show_ends(evaluation.interval(name))})"


def _show_quality(quality: Quality) -> str:
    unit = "" if quality.scale else " %"
    return f"{100 * quality.value:.2f}{unit} ({_show_ends(quality.interval)})"


def _show_ends(ends: Interval) -> str:
    return f"{100 * ends.low:.2f} to {100 * ends.high:.2f}"


def round_lines(repairing: Repairing, done: Round) -> Iterator[str]:
    """Say how the model stands after a round; first, how it is repaired and on what."""
    evaluation = done.without()
    if not done.number:
        yield f"{repairing.repairable.how}: {repairing.parts.origin}"
    broken = ", ".join(
        f"{name} {100 * rate.value:.2f} %"
        for name, rate in evaluation.rates.items()
        if rate.count
    )
    name = f"round {done.number}" if done.recipe else "before"
    yield (
        f"{name}: violations {evaluation.mean_percent:.3g} %, {evaluation.quality.name} "
        f"{_show_quality(evaluation.quality)}" + (f"; {broken}" if broken else "")
    )


def repair_data(result: Repair) -> dict[str, Any]:
    """Return a repair as plain data."""
    quality = result.before.quality
    lost, chance = (
        measure(result.after.quality)
        for measure in (quality.points_lost, quality.points_by_chance)
    )
    return {
        "verdict": result.verdict,
        "statement": result.statement,
        "how": result.how,
        "data": result.origin,
        "notes": dict(result.notes),
        "model": None if result.path is None else str(result.path),
        "chosen": result.chosen,
        "proofs": {name: asdict(proof) for name, proof in result.proofs.items()},
        "before": _evaluation_data(result.before),
        "after": _evaluation_data(result.after),
        "change": {"points": -lost, "low": -lost - chance, "high": -lost + chance},
        "rounds": [
            {
                "number": one.number,
                "way": one.recipe and one.recipe.way,
                "weights": dict(one.weights),
                **_evaluation_data(one.without()),
            }
            for one in result.rounds
        ],
    }


def _evaluation_data(evaluation: Evaluation) -> dict[str, Any]:
    own = evaluation.quality
    quality = {
        "measure": own.name,
        "value": own.value,
        "records": len(own.records),
        **_ends_data(own.interval),
        **({"rmse": own.rmse} if own.scale else {}),
    }
    rates = {
        name: asdict(rate)
        | (_ends_data(evaluation.interval(name)) if rate.total else {})
        for name, rate in evaluation.rates.items()
    }
    return {"accuracy": quality, "rates": rates}


def _ends_data(ends: Interval) -> dict[str, float]:
    return {"low": ends.low, "high": ends.high}

"""A repair as tables to read and as data to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from nomos.results.verdict import proof_text
from nomos.train.repairing.judging.evaluate import Evaluation, Share
from nomos.train.repairing.repair import Repair
from nomos.train.repairing.rounds import Round


def percent_with_interval(share: Share) -> str:
    """Write a share in percent, with the ends of its interval."""
    if not share.total:
        return "no cases"
    value = f"{100 * share.value:.2f} %"
    if share.exact:
        return f"{value} (all {share.total:,} cases)"
    ends = share.interval
    return f"{value} ({100 * ends.low:.2f} to {100 * ends.high:.2f})"


def trade_off(result: Repair) -> Table:
    """Return what was gained and what it cost, on held-out records and seeds."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("held out")
    table.add_column("before")
    table.add_column("after")
    for name, rate in result.before.rates.items():
        after = result.after.rates[name]
        colour = "red" if after.value > rate.value else "green" if rate.count else "dim"
        table.add_row(
            name,
            percent_with_interval(rate),
            Text(percent_with_interval(after), style=colour),
        )
    table.add_section()
    table.add_row(
        "accuracy",
        percent_with_interval(result.before.accuracy),
        percent_with_interval(result.after.accuracy),
    )
    return table


def proof_lines(result: Repair) -> list[str]:
    """Say of each spec that was proved, or not, how much is known of all inputs."""
    return [f"{name}: {proof_text(proof)}" for name, proof in result.proofs.items()]


def round_line(done: Round) -> str:
    """Say in a line how the model stands after a round, where it is looked at."""
    evaluation = done.evaluation
    broken = ", ".join(
        f"{name} {100 * rate.value:.2f} %"
        for name, rate in evaluation.rates.items()
        if rate.count
    )
    name = "before" if done.number == 0 else f"round {done.number}"
    return (
        f"{name}: violations {evaluation.mean_percent:.3g} %, accuracy "
        f"{100 * evaluation.accuracy.value:.2f} %" + (f" ({broken})" if broken else "")
    )


def repair_data(result: Repair) -> dict[str, Any]:
    """Return a repair as plain data."""
    return {
        "verdict": result.verdict,
        "statement": result.statement,
        "how": result.how,
        "data": result.origin,
        "notes": dict(result.notes),
        "model": None if result.path is None else str(result.path),
        "chosen": result.chosen,
        "proofs": {name: asdict(proof) for name, proof in result.proofs.items()},
        "before": _evaluation_data(result.before, _with_interval),
        "after": _evaluation_data(result.after, _with_interval),
        "rounds": [
            {
                "number": one.number,
                "weights": dict(one.weights),
                **_evaluation_data(one.evaluation, asdict),
            }
            for one in result.rounds
        ],
    }


def _evaluation_data(
    evaluation: Evaluation, data: Callable[[Share], dict[str, Any]]
) -> dict[str, Any]:
    rates = {name: data(rate) for name, rate in evaluation.rates.items()}
    return {"accuracy": data(evaluation.accuracy), "rates": rates}


def _with_interval(share: Share) -> dict[str, Any]:
    ends = share.interval if share.total else None
    low, high = (None, None) if ends is None else (ends.low, ends.high)
    return {**asdict(share), "low": low, "high": high}

"""Margins have the sign of the verdict, for every comparison and connective."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nomos.engine.cases import MadeCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job
from nomos.search.guided import strategy_by_name
from nomos.search.making import Making
from nomos.search.strategy import generation_rng

ENSURES = [
    "d1 <= d2",
    "d1 < d2 || d1 == d2",
    "!(d1 > d2)",
    "d1 == d2",
    "d1 != d2",
    "d1 >= d2 && x1.age < 50",
    "d1 == 1 ==> d2 == 1",
    "d1 + d2 != 1",
    "x1.loan > 0.5 || d1 == 0",
    "abs(d1 - d2) <= 0",
]


@pytest.mark.parametrize("ensures", ENSURES)
def test_a_margin_is_positive_where_the_case_is_violated(
    loans: Path, ensures: str
) -> None:
    loans.write_text(loans.read_text().replace("d1 <= d2", ensures))
    program = (
        Worker(Setting(loans.parent.parent)).prepare_job(Job(loans)).engine.program
    )
    making = Making(program)
    search = strategy_by_name("uniform", making.build_material())
    made = making.build_inputs(search.propose(generation_rng(0, "a", 0)))
    cases = MadeCases(Stream(0, "a"), 0, made, 0, len(made))
    evaluated = Engine(program).run_made(cases, Limits(2**62, 2**62))
    signals = making.measure_signals(cases)
    assert signals is not None
    margin, trend = signals
    violated = evaluated.verdicts == Verdict.VIOLATED
    passed = evaluated.verdicts == Verdict.PASSED
    assert passed.any()
    assert (margin[violated] >= 0).all()
    assert (margin[passed] <= 0).all()
    assert np.isnan(margin[evaluated.verdicts == Verdict.DISCARDED]).all()
    if ensures == "d1 <= d2":
        assert violated.any()
        assert np.median(trend[violated]) > np.median(trend[passed])


@pytest.mark.parametrize(
    "ensures", ["d1 <= d2", "min(1, d1) <= d2", "!(d1 > d2) && d1 != d2"]
)
def test_numbers_have_margins_without_scores(
    loans: Path, tmp_path: Path, ensures: str
) -> None:
    """Where answers are NaN, too: no comparison with it holds."""
    loans.write_text(loans.read_text().replace("d1 <= d2", ensures))
    domain = tmp_path / "loans.py"
    plain = (
        "return np.where(rows[:, 0] % 5 == 1, np.nan, self.model.scores(rows)[:, 1])"
    )
    text = domain.read_text().replace("return self.model.predict(rows)", plain)
    domain.write_text(text.replace('verifies = {"predict": "model"}', ""))
    program = (
        Worker(Setting(loans.parent.parent)).prepare_job(Job(loans)).engine.program
    )
    making = Making(program)
    search = strategy_by_name("uniform", making.build_material())
    assert making.build_material().unguided == ""
    made = making.build_inputs(search.propose(generation_rng(0, "a", 0)))
    cases = MadeCases(Stream(0, "a"), 0, made, 0, len(made))
    evaluated = Engine(program).run_made(cases, Limits(2**62, 2**62))
    signals = making.measure_signals(cases)
    assert signals is not None
    violated = evaluated.verdicts == Verdict.VIOLATED
    passed = evaluated.verdicts == Verdict.PASSED
    assert (signals[0][violated] > 0).all()
    assert (signals[0][passed] <= 0).all()


def test_the_probabilities_of_an_estimator_in_verifies_guide(
    loans: Path, tmp_path: Path
) -> None:
    """An estimator of scikit-learn has no `scores`, but `predict_proba`."""
    domain = tmp_path / "loans.py"
    domain.write_text(domain.read_text().replace("scores(", "predict_proba("))
    project = Worker(Setting(loans.parent.parent))
    making = Making(project.prepare_job(Job(loans)).engine.program)
    assert making.build_material().unguided == ""

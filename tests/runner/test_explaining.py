"""At the end of a campaign bugs are grouped and shrunk, the same in every way."""

from __future__ import annotations

import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nomos
from nomos.engine.evaluated import EvaluatedChunk, Violations
from nomos.engine.interpreter import Verdict
from nomos.results.result import Result, from_data, to_data
from nomos.runner.campaigns.explained.sampling import Sample, choose_rows
from nomos.runner.driver import Driver
from nomos.runner.executors import worker
from tests.runner.driving import without_check

RISE = nomos.relations.monotone("income", step=20)
rng = np.random.default_rng(4)
PEOPLE = {
    "income": rng.integers(10, 90, 400).tolist(),
    "age": rng.integers(18, 80, 400).tolist(),
}


def predict(rows: Any) -> Any:
    """Refuse young people with incomes from 60 to 64."""
    income, age = np.asarray(rows).T
    dip = (income >= 60) & (income <= 64) & (age <= 30)
    return ((income >= 30) & ~dip).astype(int)


def run(people: int = 400, **options: Any) -> Result:
    frame = pytest.importorskip("pandas").DataFrame(PEOPLE).head(people)
    return nomos.run(RISE, inputs=frame, predict=predict, store=False, **options)


@pytest.mark.parametrize("search", ["random", "exhaustive"])
def test_a_campaign_says_where_its_bugs_are_and_shows_small_ones(search: str) -> None:
    result = run(search=search)
    assert result.analysis is not None
    young = result.analysis.groups[0]
    assert young.region is not None
    assert "age <= " in young.region.text
    assert result.analysis.grouped == result.counts.isolated_reruns
    assert 0 < result.analysis.sampled <= result.counts.evaluated
    shrunk = [bug.shrunk for bug in result.bugs if bug.shrunk is not None]
    assert shrunk
    assert all(one.outputs == {"d1": 1, "d2": 0} for one in shrunk)
    incomes = [one.inputs["x2"]["income"] for one in shrunk]
    assert set(incomes) == {60}  # the lowest that is refused
    assert result.analysis.tried >= max(one.tried for one in shrunk)
    assert result.analysis.model_calls > 0


@pytest.mark.parametrize("search", ["random", "exhaustive"])
def test_what_is_said_does_not_depend_on_batch_or_way(search: str) -> None:
    want = run(120, search=search, budget=1500)
    assert want.analysis is not None and want.analysis.groups
    for batch, mode in ((7, "coroutines"), (1000, "sequential")):
        got = run(120, search=search, batch=batch, mode=mode, budget=1500)
        assert without_check(got) == without_check(want), mode
        assert got.bugs == want.bugs


def test_nothing_is_explained_where_nobody_wants_it() -> None:
    result = run(groups=False, shrink=False)
    assert result.analysis is not None  # the flakiness check is made all the same
    assert result.analysis.groups == () and result.analysis.tried == 0
    assert all(bug.shrunk is None for bug in result.bugs)
    shrunk = run(groups=False)
    assert shrunk.analysis is not None
    assert shrunk.analysis.groups == ()
    assert any(bug.shrunk for bug in shrunk.bugs)


def test_groups_are_made_after_the_time_of_a_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once = worker.explain

    def later(*given: Any) -> Any:
        time.sleep(0.5)
        return at_once(*given)

    monkeypatch.setattr(worker, "explain", later)
    result = run(search="random", budget=10**9, time=0.2)
    assert result.reason == "the time is up"
    assert result.analysis is not None and result.analysis.groups


def test_bugs_are_explained_when_somebody_looks_and_by_the_model_that_they_are_of() -> (
    None
):
    sent: list[int] = []
    shift = 0

    def counting(rows: Any) -> Any:
        sent.append(len(rows))
        return predict(np.asarray(rows) + np.array([shift, 0]))

    def tried() -> Result:
        frame = pytest.importorskip("pandas").DataFrame(PEOPLE)
        return nomos.run(RISE, inputs=frame, predict=counting, search="random")

    result, before = tried(), len(sent)
    assert result.verdict == "violated" and result.counts.confirmed
    assert result.analysis is not None and result.analysis.flakiness is not None
    assert len(sent) == before
    assert pickle.loads(pickle.dumps(result.analysis)) == result.analysis
    assert result.analysis.groups and len(sent) > before
    asked = result.calls.by_phase
    assert result.calls.asked == sum(asked.values()) and asked["shrinking"] > 0
    later = tried()
    shift = 3
    with pytest.warns(RuntimeWarning, match="answers otherwise than in the campaign"):
        assert later.analysis is not None and later.analysis.groups == ()
    assert later.analysis != result.analysis
    assert not any(bug.shrunk for bug in later.bugs)


@pytest.mark.filterwarnings("ignore:.*nothing tells how near a case comes")
@pytest.mark.parametrize("search", ["random", "exhaustive", "guided", "diverse"])
@pytest.mark.parametrize("limits", [{}, {"calls": 700}, {"time": 60.0}], ids=str)
def test_bugs_that_are_explained_later_are_those_of_a_campaign_that_explains_them(
    monkeypatch: pytest.MonkeyPatch, search: str, limits: dict[str, Any]
) -> None:
    sent = 0

    def counting(rows: Any) -> Any:
        nonlocal sent
        sent += len(rows)
        return predict(rows)

    def tried() -> tuple[Result, int]:
        nonlocal sent
        frame, sent = pytest.importorskip("pandas").DataFrame(PEOPLE), 0
        options = {"search": search, "budget": 500, **limits}
        result = nomos.run(RISE, inputs=frame, predict=counting, **options)
        return result, sent

    later, before = tried()
    explained = without_check(later)
    assert later.calls.asked == sent <= limits.get("calls", sent)
    assert (sent == before) == bool(limits)  # a limit is spent by the campaign itself
    with monkeypatch.context() as patch:
        patch.setattr(Driver, "_can_wait", lambda *_: False)
        eager, _ = tried()
    assert later.bugs == eager.bugs
    assert explained == without_check(eager)
    assert any(bug.shrunk for bug in later.bugs) or "calls" in limits


def test_bugs_of_inputs_that_were_changed_meanwhile_are_not_explained() -> None:
    rows = [[income, age] for income, age in zip(*PEOPLE.values(), strict=True)]
    spec = """
        input x;
        output a;
        { a = predict(x) }
        ensures x[1] <= 30 ==> a == 0;
    """
    result = nomos.run(spec, inputs=rows, predict=predict, search="random")
    for row in rows:
        row[1] += 20
    with pytest.warns(RuntimeWarning, match="the inputs are others"):
        assert not any(bug.shrunk for bug in result.bugs)


def test_bugs_of_objects_that_have_no_text_are_explained() -> None:
    class Applicant:
        def __init__(self, age: int) -> None:
            self.age = age

    people = [Applicant(age) for age in PEOPLE["age"]]
    spec = "input x;\noutput a;\n{ a = f(x) }\nensures a <= 2;\n"
    result = nomos.run(spec, inputs=people, f=lambda all: [p.age % 5 for p in all])
    assert result.analysis is not None and result.analysis.groups


def test_threads_that_look_at_once_explain_bugs_once() -> None:
    asked: list[int] = []

    def slow(rows: Any) -> Any:
        asked.append(len(rows))
        return predict(rows)

    frame = pytest.importorskip("pandas").DataFrame(PEOPLE)
    result = nomos.run(RISE, inputs=frame, predict=slow, search="random", budget=200)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: to_data(result), range(4)))
    assert all(one == found[0] for one in found)
    assert result.calls.asked == sum(asked)


def test_a_result_keeps_its_groups_as_data() -> None:
    result = run()
    back = from_data(json.loads(json.dumps(to_data(result))))
    assert back.analysis == result.analysis
    assert [bug.shrunk for bug in back.bugs] == [bug.shrunk for bug in result.bugs]


def evaluated(verdicts: list[Verdict]) -> EvaluatedChunk:
    rows = [n for n, v in enumerate(verdicts) if v is Verdict.VIOLATED]
    count = len(verdicts)
    return EvaluatedChunk(
        np.array(verdicts, dtype=np.int8),
        np.ones(count, dtype=bool),
        np.ones(count, dtype=np.int32),
        np.full(count, -1, dtype=np.int32),
        violations=Violations.of(
            rows, [()] * len(rows), [2] * len(rows), [0.0] * len(rows)
        ),
    )


def test_a_sample_is_the_first_judged_cases_in_chunks_of_any_size() -> None:
    kinds = [Verdict.PASSED, Verdict.VIOLATED, Verdict.DISCARDED, Verdict.CRASHED]
    verdicts = [kinds[n * n % 4 if n % 5 else 2] for n in range(60)]
    verdicts[7] = Verdict.CRASHED
    found = []
    for size in (1, 7, 60):
        sample = Sample(size=20)
        for first in range(0, 60, size):
            part = evaluated(verdicts[first : first + size])
            sample.take(part, len(part), first)
        found.append((sample.cases.tolist(), sample.failed.tolist()))
    assert found[0] == found[1] == found[2]
    cases, failed = found[0]
    assert len(cases) == 20
    assert [verdicts[case] for case in cases] == [
        Verdict.VIOLATED if mask else Verdict.PASSED for mask in failed
    ]
    again = Sample()
    again.restore(sample.text())
    assert (again.cases.tolist(), again.failed.tolist()) == found[0]


def test_listed_cases_are_sampled_by_what_they_are() -> None:
    choices = np.array([[a, b] for a in range(30) for b in range(5)])
    lengths = np.full(len(choices), 2)
    some = {tuple(choices[n]) for n in choose_rows(choices, lengths, 20)}
    turned = choices[::-1]
    assert {tuple(turned[n]) for n in choose_rows(turned, lengths, 20)} == some
    assert len(some) == 20

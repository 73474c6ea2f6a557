"""A real language model behind a real endpoint: five relations, and a control.

SmolLM2-135M comes inside a package, and is served on this machine; nothing else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nomos
from casestudies.language_models.server import find_weights, serve
from nomos import Domain, DomainError, batched, load_model, relations
from nomos.texts import TextChanges, read_number

pytest.importorskip("httpx")
pytestmark = pytest.mark.slow
RELATIONS = ("order", "capitals", "politeness", "irrelevant", "lengthening")
CASES = 8
SUMS = [(a, b, wrong) for a in (3, 7, 12) for b in (4, 9) for wrong in (-2, 3)]
CONTROL = """
input x;
output first;
output second;
{
  first = answer(x)
  second = answer(x)
}
ensures first == second;
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    try:
        find_weights("smollm2")
    except DomainError as missing:
        pytest.skip(str(missing))
    with serve("smollm2") as model:
        yield f"{model}?max_tokens=12"


@pytest.fixture
def sums(address: str) -> type[Domain]:
    class Sums(TextChanges, Domain):
        def __init__(self) -> None:
            self.model = load_model(address)

        def inputs(self) -> list[str]:
            return [f"What is {a} + {b}, {a + b} or {a + b + w}?" for a, b, w in SUMS]

        @batched
        def answer(self, texts: list[str]) -> list[Any]:
            asked = [f"Reply with one word.\nQuestion: {t}\nAnswer:" for t in texts]
            return list(read_number(self.model.predict(asked), which="last"))

    return Sums


def test_five_relations_of_a_real_model_beside_a_control(
    sums: type[Domain], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    how: dict[str, Any] = {
        "budget": CASES,
        "search": "random",
        "accept_unreadable": 0.9,
    }
    how |= {"domain": sums, "concurrency": 1}
    violated = 0
    for kind in RELATIONS:
        found = nomos.run(relations.text_relation(kind), **how)
        counts = found.counts
        assert counts.tests == CASES
        assert counts.crashed == counts.flaky == counts.nondeterministic == 0, found
        assert counts.unreadable < CASES, found
        assert found.verdict in ("violated", "none-found"), found
        violated += counts.violations
    assert violated > 0
    control = nomos.run(CONTROL, **how, cache="off")
    assert control.counts.violations == control.counts.crashed == 0
    assert control.calls.total_sent("requests") >= CASES  # it was asked, each time

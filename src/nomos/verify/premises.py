"""How many cases have what stands before `==>`.

An implication whose premise no case has is kept by every model, and says nothing of this
one. What a premise says of inputs and draws alone is one more condition on the cases, which
are then counted without a search. A premise that speaks of answers is counted by asking
for the cases that break its opposite: what breaks `!(d1 == 1)` has `d1 == 1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from nomos.errors import NotProvable
from nomos.lang import core
from nomos.results.result import Certificate, Premise, Proof
from nomos.structures.model import Structure
from nomos.verify.engines.search import Findings
from nomos.verify.engines.settle import count_cases
from nomos.verify.question.cases import AskedCases
from nomos.verify.question.symbolic import asks_answer


def count_premises(
    cases: AskedCases, model: Structure, decide: Callable[[AskedCases], Findings]
) -> tuple[Premise, ...]:
    """Return of each implication how many cases have its premise.

    `decide` settles a question as far as there is time.
    """
    return tuple(
        Premise(number, text, *_count_one(cases, premise, model, decide))
        for number, text, premise in _list_premises(cases)
    )


def _list_premises(cases: AskedCases) -> Iterator[tuple[int, str, core.Expr]]:
    """Yield all that stands before an `==>`: of `a ==> b ==> c`, `a && b`."""
    question = cases.question
    for number, (own, said) in enumerate(
        zip(question.ensures, question.spec.ensures, strict=True)
    ):
        premise, rest = None, own
        while isinstance(rest, core.Logic) and rest.operator == "==>":
            left = rest.left
            premise = (
                left
                if premise is None
                else core.Logic("&&", premise, left, span=left.span)
            )
            rest = rest.right
        if premise is not None:
            yield number, said.text, premise


def _count_one(
    cases: AskedCases,
    premise: core.Expr,
    model: Structure,
    decide: Callable[[AskedCases], Findings],
) -> tuple[int, int | None]:
    """Return the least and the greatest number of cases; none is known of real features."""
    question = cases.question
    try:
        if asks_answer(premise):
            asked = replace(question, ensures=(core.Not(premise, span=premise.span),))
            found = decide(replace(cases, question=asked))
            least = max(found.bad, int(found.example is not None))
            most = None if found.total is None else found.total - found.good
        else:
            guards = (*question.guards, premise)
            own = replace(cases, question=replace(question, guards=guards))
            least = most = count_cases(own, model)
    except NotProvable:
        return 0, None
    if cases.space.is_real:
        return min(1, least), None if most else 0
    return least, most


def weigh_premises(proof: Proof, premises: tuple[Premise, ...], ensures: int) -> Proof:
    """Return a proof with its premises: where no case has any, it is undecided."""
    idle = [f"`{one.text}`" for one in premises if one.is_vacuous]
    if proof.verdict == "violated" or len(idle) < ensures:
        return replace(proof, premises=premises)
    return replace(
        proof,
        verdict="undecided",
        violating=None,
        decided=None,
        premises=premises,
        reason=f"no case has what stands before `==>` in {'; '.join(idle)}",
    )


def join_proofs(found: Mapping[int, Proof]) -> Proof:
    """Return one proof for the proofs around several rows; rows without cases aside.

    A row around which no case has the premise of any `ensures` is without cases, too.
    """
    real = [one for one in found.values() if one.cases != 0 and not one.is_vacuous]
    if not real:
        idle = [one for one in found.values() if one.is_vacuous]
        reason = idle[0].reason if idle else "no case fulfils `requires`"
        return Proof("undecided", reason=reason)
    bad = [one for one in real if one.verdict == "violated"]
    unknown = [one for one in real if one.verdict == "undecided"]
    first = (bad or unknown or real)[0]
    rows = (
        Certificate(r, one.verdict, 0 if one.is_vacuous else one.cases)
        for r, one in found.items()
    )
    return replace(
        first,
        cases=None,
        violating=None,
        decided=None,
        rows=tuple(rows),
        premises=tuple(
            _join_premises(same)
            for same in zip(*(one.premises for one in real), strict=False)
        ),
    )


def _join_premises(same: tuple[Premise, ...]) -> Premise:
    """Return how many cases have a premise around all rows."""
    most = [one.most for one in same if one.most is not None]
    least = sum(one.least for one in same)
    total = sum(most) if len(most) == len(same) else None
    return replace(same[0], least=least, most=total)

"""Campaigns of the store as results that a page can be made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from nomos.campaign.events import Bug, Counts, Finished
from nomos.campaign.records import BugRecord, CampaignRecord
from nomos.campaign.result import Result, Subject
from nomos.campaign.session import Prepared, replay
from nomos.campaign.statistics import clopper_pearson, new_bug_chance
from nomos.diagnostics import Source, Span
from nomos.domain.domain import Domain
from nomos.harness.alone import Verdict
from nomos.lang import core
from nomos.report.html_bugs import MOST_DRAWN, Recorded

_COUNTS = {field.name for field in fields(Counts)}


def newest(campaigns: Iterable[CampaignRecord]) -> list[CampaignRecord]:
    """Return the last campaign of each property and model, in the order of specs.

    One that ended is taken before a later one that was killed.
    """
    found: dict[tuple[str, str], CampaignRecord] = {}
    for campaign in sorted(campaigns, key=lambda c: (c.finished is not None, c.id)):
        found[campaign.spec, campaign.model] = campaign
    return [found[key] for key in sorted(found)]


def recalled(
    campaign: CampaignRecord,
    bugs: Sequence[BugRecord],
    subject: Subject,
    prepared: Prepared | None,
) -> Result:
    """Return a campaign's result; the bugs to be drawn are run again where they can be."""
    subject = replace(subject, spec=_with_recorded(subject.spec, bugs))
    kept = {name: n for name, n in campaign.counts.items() if name in _COUNTS}
    counts = Counts(**kept)  # type: ignore[arg-type]  # the store has them as they were
    result = Result(
        subject=subject,
        seed=campaign.seed,
        budget=campaign.budget,
        search=campaign.search,
        way=campaign.engine,
        counts=counts,
        seen={bug.id: bug.seen for bug in bugs},
    )
    result.bugs = [
        _bug(bug, prepared if number < MOST_DRAWN else None)
        for number, bug in enumerate(bugs)
    ]
    result.finished = _finished(campaign, counts, bugs)
    return result


def _with_recorded(spec: core.Spec, bugs: Sequence[BugRecord]) -> core.Spec:
    """Add the conditions that failed then and are not in the spec any more."""
    texts = {condition.text for condition in spec.ensures}
    gone = dict.fromkeys(bug.failed for bug in bugs if bug.failed not in texts)
    unknown = core.Constant(None, span=Span(0, 0))
    added = tuple(core.Condition(unknown, text, line=0) for text in gone)
    return replace(spec, ensures=spec.ensures + added)


def recorded_subject(
    campaign: CampaignRecord, spec: core.Spec | None, bugs: Sequence[BugRecord]
) -> Subject:
    """Return what a campaign was about where its domain or its spec is gone."""
    if spec is None:
        outputs = bugs[0].outputs if bugs else {}
        spec = core.Spec(
            name=campaign.property,
            description="",
            source=Source(campaign.spec, ""),
            imports=(),
            inputs=(),
            variables=(),
            requires=(),
            outputs=tuple(outputs),
            code=core.Code((), None, frozenset()),
            later_variables=(),
            ensures=(),
            k=None,
        )
    settings = {name: str(value) for name, value in campaign.settings.items()}
    return Subject(spec, campaign.spec, Domain(), campaign.model, settings)


def _bug(bug: BugRecord, prepared: Prepared | None) -> Bug:
    values = Recorded({**bug.inputs, **bug.outputs})
    if prepared is not None:
        outcome = replay(prepared, bug.choices)
        if outcome.verdict is Verdict.VIOLATED:  # else the model is another by now
            return Bug(bug.id, bug.case, bug.choices, bug.failed, outcome.values)
    return Bug(bug.id, bug.case, bug.choices, bug.failed, values)


def _finished(
    campaign: CampaignRecord, counts: Counts, bugs: Sequence[BugRecord]
) -> Finished:
    rate = chance = None
    if counts.tests and campaign.search == "random":
        seen = Counter(bug.seen for bug in bugs)
        rate = clopper_pearson(counts.violations, counts.tests)
        chance = new_bug_chance(counts.tests, seen[1], seen[2])
    return Finished(
        counts=counts,
        verdict=campaign.verdict or ("violated" if bugs else "failed"),
        reason="" if campaign.finished else "interrupted",
        rate=rate,
        next_bug=chance,
        problem=f"{counts.crashed} cases crashed" if counts.crashed else "",
    )

"""Campaigns prepared and run: domains built once, bugs stored, recorded bugs retried."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from nomos.campaign.baseline import load_known
from nomos.campaign.events import Event, Finished
from nomos.campaign.interruption import TimeUp, held_back
from nomos.campaign.naming import model_name, relative
from nomos.campaign.recording import Recording
from nomos.campaign.result import Recorded, Result, Subject
from nomos.campaign.runner import Budget, Campaign, bug_namer
from nomos.campaign.store import Store
from nomos.domain.domain import Domain
from nomos.domain.find import Imported, build
from nomos.errors import DomainError, ModelError, NomosError
from nomos.harness.alone import Outcome, Verdict
from nomos.harness.choices import EndlessRange, ReplayedCase
from nomos.harness.engine import Engine, Way
from nomos.harness.program import Program
from nomos.harness.space import listed_cases, space_within
from nomos.lang import core

Search = Literal["auto", "random", "exhaustive"]
_RETRY_S = 5.0  # how long recorded bugs are tried before the campaign begins
_EVERYTHING = 10**15  # a budget that no campaign spends


@dataclass(frozen=True, slots=True)
class Options:
    """How campaigns are run."""

    budget: Budget = field(default_factory=Budget)
    way: Way | None = None
    search: Search = "auto"
    batch: int | None = None
    resume: bool = False
    accept: bool = True  # whether the bugs found become known ones


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A property and a model, ready to be tested."""

    subject: Subject
    engine: Engine


class Session:
    """Runs campaigns that share domains, a store and options."""

    def __init__(
        self,
        root: Path,
        options: Options,
        store: Store | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.root = root
        self.options = options
        self.store = store
        self.warn = warn or (lambda message: None)
        self._retried: list[Prepared] = []
        self._domains: dict[
            tuple[type[Domain], tuple[tuple[str, str], ...]], Domain
        ] = {}

    def prepare(
        self,
        spec: core.Spec,
        imported: Imported,
        path: Path,
        settings: Mapping[str, str],
    ) -> Prepared:
        """Build the domain and compile the spec; `settings` may name the model."""
        if imported.domain is None:
            raise DomainError(
                f"{path} imports no domain, so there is nothing to draw from"
            )
        domain = self._domain(imported.domain, settings)
        program = Program(spec, domain, imported.functions, imported.modules)
        try:
            engine = Engine(program, self.options.way)
        except ValueError as error:
            raise NomosError(f"{path}: {error}") from None
        others = {name: value for name, value in settings.items() if name != "model"}
        subject = Subject(
            spec=spec,
            path=relative(str(path), self.root),
            domain=domain,
            model=model_name(imported.domain, settings, self.root),
            settings=others,
        )
        return Prepared(subject, engine)

    def _domain(self, domain: type[Domain], settings: Mapping[str, str]) -> Domain:
        key = domain, tuple(sorted(settings.items()))
        if key not in self._domains:
            self._domains[key] = build(domain, settings)
        return self._domains[key]

    def run(
        self, prepared: Prepared, seed: int, result: Result
    ) -> Generator[Event, None, None]:
        """Run one campaign; its events are also gathered in `result` and stored."""
        campaign = self._campaign(prepared, seed)
        listeners = [result.hear]
        if self.store is not None:
            # Once is enough: the bugs of another seed are a moment old.
            if prepared not in self._retried:
                self._retried.append(prepared)
                result.recorded = self._retry(prepared)
            result.known = load_known(
                self.store.path.parent, prepared.subject.spec.name
            )
            recording = Recording(
                self.store,
                prepared.subject,
                campaign,
                self.warn,
                accept=self.options.accept,
            )
            recording.begin(resume=self.options.resume)
            listeners.append(recording.hear)
        events = campaign.run()
        event: Event | None = next(events)
        while event is not None:
            try:
                with held_back():
                    for listener in listeners:
                        listener(event)
                yield event
                event = next(events, None)
            except (KeyboardInterrupt, TimeUp) as interrupt:
                if isinstance(event, Finished):
                    raise
                event = events.throw(interrupt)

    def _campaign(self, prepared: Prepared, seed: int) -> Campaign:
        subject, options = prepared.subject, self.options
        settings = dict(subject.settings)
        campaign = Campaign(
            engine=prepared.engine,
            seed=seed,
            budget=options.budget,
            name_bug=bug_namer(subject.spec.name, subject.model, settings),
            batch=options.batch,
        )
        program = prepared.engine.program
        if options.search == "exhaustive":
            self._check_finite(program)
            campaign.listed = listed_cases(program)
            campaign.budget = replace(options.budget, cases=_EVERYTHING)
        elif options.search == "auto":
            cases = space_within(program, options.budget.cases)
            if cases is not None:
                campaign.listed = iter(cases)
                campaign.space = sum(map(len, cases))
        return campaign

    def _check_finite(self, program: Program) -> None:
        try:
            next(listed_cases(program), None)
        except EndlessRange as error:
            raise NomosError(
                f"{program.spec.name} cannot be searched exhaustively: {error}"
            ) from None

    def _retry(self, prepared: Prepared) -> Recorded:
        """Try the open bugs that earlier campaigns recorded; mark those that are gone."""
        assert self.store is not None
        subject = prepared.subject
        began = time.perf_counter()
        tried, fixed = 0, []
        for bug in self.store.bugs(
            spec=subject.path, model=subject.model, status="open"
        ):
            if dict(bug.settings) != dict(subject.settings):
                continue
            if time.perf_counter() - began > _RETRY_S:
                break
            try:
                verdict = replay(prepared, bug.choices).verdict
            except ModelError:
                break  # the campaign itself will say so
            tried += 1
            # A case that crashes, or that the spec cannot draw any more, says nothing.
            if verdict in (Verdict.PASSED, Verdict.DISCARDED):
                fixed.append(bug.id)
                self.store.mark(bug.id, "fixed")
        return Recorded(tried, tuple(fixed))


def replay(prepared: Prepared, choices: tuple[int, ...]) -> Outcome:
    """Run a recorded case again, alone."""
    return prepared.engine.alone.run(ReplayedCase(choices))

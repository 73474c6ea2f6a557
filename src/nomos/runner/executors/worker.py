"""What a worker does: prepare a job, evaluate ranges of its cases, run cases alone."""

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from nomos.accepted import Mode
from nomos.device import Placement, place_models, reference_precision
from nomos.domain.domain import Domain
from nomos.domain.find import build
from nomos.domain.meter import CallsSpent, Grant, Lease, Phase, Terms, under_lease
from nomos.engine.cases import Cases, KnownCase, MadeCases, RandomCases
from nomos.engine.choices import EndlessRange, Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import EvaluatedChunk, Limits, no_verdicts
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program
from nomos.engine.space import estimate_space, input_count
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import NomosError
from nomos.lang import core
from nomos.models import trusting
from nomos.results.describe import describe_values
from nomos.results.result import Result, Subject
from nomos.runner.campaigns.bugs import IsolatedRerun, tell_from_chance
from nomos.runner.campaigns.clock import measure_time
from nomos.runner.campaigns.explained.explaining import Explained, Request, explain
from nomos.runner.campaigns.explained.flakiness import (
    FlakinessFound,
    FlakinessSample,
    check_cases,
    sample_cases,
)
from nomos.runner.campaigns.fingerprint import checksum_of_inputs, fingerprint
from nomos.runner.campaigns.plans.ranges import Range
from nomos.runner.drafting import CostEstimate, estimate_cost
from nomos.runner.jobs import Job, Prepared, subject_of
from nomos.runner.project.naming import model_name, relative
from nomos.runner.project.params import bind_settings
from nomos.runner.project.specs import LoadedSpec, load_spec
from nomos.search.making import Making
from nomos.search.strategy import Material


def is_uncontrolled(program: Program) -> bool:
    """Tell whether a random model is asked one thing, and once: chance cannot be told."""
    is_tested = program.has_control or program.spec.repeats
    return bool(program.random_models) and not is_tested


def current_folder() -> str:
    """Return where this process is; "" where that folder is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Setting:
    """What every job of a run shares."""

    root: Path
    mode: Mode | None = None
    trust: bool = False
    placement: Placement = field(default_factory=Placement)
    terms: Terms = field(default_factory=Terms)
    repeats: Mapping[str, str] = field(default_factory=dict)
    folder: str = field(default_factory=current_folder)  # before a model changes it


@dataclass(frozen=True, slots=True)
class About:
    """What a worker says of a job that it has prepared."""

    subject: Subject
    mode: str
    inputs: int  # inputs of a case
    ways: int  # to draw them
    fingerprint: Mapping[str, str]
    device: str = "cpu"  # of its tensors
    rates: tuple[core.Rate, ...] = ()
    campaign_ensures: tuple[core.Condition, ...] = ()
    has_control: bool = False  # whether a random model is tested against chance
    is_uncontrolled: bool = False  # or cannot be
    asks_endpoints: bool = False  # and no other models


@dataclass(frozen=True, slots=True)
class Done:
    """What a task came to, the calls that it made, and what the model raised."""

    value: Any
    asked: Mapping[Phase, int]
    raised: Mapping[str, int]


class Worker:
    """Holds what it has prepared, and runs cases of it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.lease = Lease()  # of the last task
        self.report_calls: Callable[[int], None] | None = None
        self._domains: dict[Any, Domain] = {}  # each once for its settings
        self._prepared: dict[tuple[Path, tuple[tuple[str, str], ...]], Prepared] = {}
        self._begun: tuple[int, int] | None = None  # which campaign runs
        self._inputs = ""  # the checksum of its inputs
        self._making: dict[int, Making] = {}  # how inputs are made, by the program

    def run_task(self, grant: Grant, method: str, *arguments: Any) -> Done:
        """Do a task, the call of one of the methods below, with no more calls than granted."""
        self.lease = Lease(grant, self.report_calls, self.setting.terms, watch.beat)
        try:
            with under_lease(self.lease):
                value = getattr(self, method)(*arguments)
        except CallsSpent as spent:
            raise NomosError(str(spent)) from None
        return Done(value, dict(self.lease.asked), dict(self.lease.raised))

    def prepare_job(self, job: Job) -> Prepared:
        """Return a job, made ready the first time it is asked for."""
        if job.prepared is not None:
            return job.prepared
        key = job.path, tuple(sorted(job.settings.items()))
        if key not in self._prepared:
            trust = trusting() if self.setting.trust else nullcontext()
            with trust, place_models(self.setting.placement):
                loaded = job.loaded or load_spec(job.path)
                self._prepared[key] = self._prepare(loaded, job.settings)
        return self._prepared[key]

    def _prepare(self, loaded: LoadedSpec, settings: Mapping[str, str]) -> Prepared:
        """Build the domain and compile the spec; `settings` may name the model."""
        spec, imported = loaded.runnable()
        assert imported.domain is not None
        given = {**self.setting.repeats, **settings}
        spec, settings, params = bind_settings(spec, given)
        key = imported.domain, tuple(sorted(settings.items()))
        if key not in self._domains:
            self._domains[key] = build(imported.domain, settings)
        functions, modules = imported.functions, imported.modules
        program = Program(spec, self._domains[key], functions, modules)
        try:
            engine = Engine(program, self.setting.mode)
        except ValueError as error:
            raise NomosError(f"{loaded.path}: {error}") from None
        root = self.setting.root
        path = relative(str(loaded.path), root)
        model = model_name(imported.domain, settings, root)
        others = {name: value for name, value in settings.items() if name != "model"}
        others |= params
        file = root / model if model else None
        return Prepared(
            subject_of(spec, path, imported.domain.__name__, model, others),
            engine,
            imported,
            file if file is not None and file.exists() else None,
        )

    def about(self, job: Job, with_fingerprint: bool) -> About:
        """Prepare a job and say what it is."""
        prepared = self.prepare_job(job)
        program = prepared.engine.program
        marks = fingerprint(prepared) if with_fingerprint else {}
        if with_fingerprint and self.setting.placement.dtype is not None:
            marks["dtype"] = self.setting.placement.dtype
        return About(
            prepared.subject,
            prepared.engine.mode,
            len(program.spec.inputs),
            input_count(program),
            marks,
            program.device,
            program.spec.rates,
            program.spec.campaign_ensures,
            program.has_control,
            is_uncontrolled(program),
            prepared.asks_endpoints,
        )

    def estimate_cost(self, job: Job, *how: Any) -> CostEstimate:
        """Return what a search of so many cases would send and cost."""
        return estimate_cost(self.prepare_job(job), self.setting.terms, *how)

    def space(self, job: Job, limit: int | None) -> int | None:
        """Return how many cases there are, None where there are more than the limit.

        Without a limit they are not counted; raises where they cannot be listed.
        """
        engine = self.prepare_job(job).engine
        try:
            if limit is not None:
                return engine.space_within(limit)
            next(engine.list_cases(), None)
        except CallsSpent:  # conditions ask the model: the campaign will end by it
            return None
        except EndlessRange as error:
            said = f"{engine.program.spec.name} cannot be searched exhaustively"
            raise NomosError(f"{said}: {error}") from None
        return None

    def estimate_space(self, job: Job) -> int | None:
        """Return about how many cases there are; None where they cannot be listed."""
        try:
            return estimate_space(self.prepare_job(job).engine.program)
        except CallsSpent:
            return None

    def material(self, job: Job, is_guided: bool = True) -> Material:
        """Return what a search has to know of a job."""
        return self._engine_for(self.prepare_job(job)).build_material(is_guided)

    def _engine_for(self, prepared: Prepared) -> Making:
        key = id(prepared)
        if key not in self._making:
            self._making[key] = Making(prepared.engine.program)
        return self._making[key]

    def evaluate(
        self, job: Job, campaign: tuple[int, int], asked: Range
    ) -> list[EvaluatedChunk]:
        """Evaluate a range of the cases of a campaign, given by its number and seed."""
        prepared = self.prepare_job(job)
        engine = prepared.engine
        if self._begun != campaign:
            engine.forget()
            self._begun = campaign
            self._inputs = checksum_of_inputs(engine.program.source)
            if asked.remembered is not None:
                self._restore_answers(engine, asked.remembered)
        stream = Stream(campaign[1], prepared.subject.property)
        watch.mark(WHOLE_CHUNK)
        evaluated: list[EvaluatedChunk] = []
        try:
            if asked.made is not None:
                evaluated.append(self._evaluate_made(prepared, stream, asked))
            else:
                for part in self._evaluate_drawn(prepared, stream, asked):
                    evaluated.append(part)
        except CallsSpent:  # by the conditions of cases that were only listed
            evaluated.append(replace(no_verdicts(0), is_spent=True))
        for part in evaluated:
            part.inputs = self._inputs
        return evaluated

    def _restore_answers(self, engine: Engine, kept: Any) -> None:
        try:
            engine.restore_answers(kept)
        except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as why:
            raise NomosError(
                f"it cannot be resumed: what is stored of its answers is damaged"
                f" ({type(why).__name__}: {why})\nhelp: run it anew, without --resume"
            ) from None

    def export_answers(self, job: Job, campaign: tuple[int, int]) -> Any:
        """Return what a campaign knows of answers; None where it has not begun."""
        if self._begun != campaign:
            return None
        return self.prepare_job(job).engine.export_answers()

    def _evaluate_drawn(
        self, prepared: Prepared, stream: Stream, asked: Range
    ) -> Iterator[EvaluatedChunk]:
        """Evaluate cases chunk by chunk, as long as the limits and the calls go."""
        limits, before = Limits(asked.tests, asked.crashes, asked.longest_s), 0
        how = {"one_by_one": asked.one_by_one}
        for cases in _cases(prepared, stream, asked):
            if limits.are_reached:
                break
            busy, began = time.process_time(), measure_time()
            part = prepared.engine.run(cases, limits, before=before, **how)
            part.busy_s = time.process_time() - busy
            part.seconds = measure_time() - began
            yield part
            limits, before = limits.after(part), before + len(part)
            if part.is_spent:
                break

    def _evaluate_made(
        self, prepared: Prepared, stream: Stream, asked: Range
    ) -> EvaluatedChunk:
        """Evaluate cases that a search has made, and tell how near they come."""
        assert asked.made is not None
        making = self._engine_for(prepared)
        made = making.build_inputs(asked.made)
        stop = asked.count if asked.stop is None else asked.stop
        count = stop - asked.start
        cases = MadeCases(stream, asked.first, made, asked.start, count)
        if asked.signals:
            making.keep_scores()
        began = time.process_time()
        # The scores of all are wanted, and come with them.
        how = {"one_by_one": asked.one_by_one, "asks_all": asked.signals}
        limits = Limits(asked.tests, asked.crashes)
        evaluated = prepared.engine.run_made(cases, limits, batch=asked.batch, **how)
        evaluated.busy_s = time.process_time() - began
        # Of a whole generation at once: scores may depend on the batch.
        if asked.signals and len(evaluated) == asked.count:
            evaluated.signals = making.measure_signals(cases)
        return evaluated

    def confirm(self, job: Job, cases: Sequence[KnownCase]) -> list[IsolatedRerun]:
        """Run cases alone, as far as calls and time suffice; repeat those of random models."""
        prepared = self.prepare_job(job)
        outcomes: list[IsolatedRerun] = []
        if prepared.engine.program.has_control:
            rerun = partial(self._rerun_isolated, prepared)
            return tell_from_chance(prepared.engine, cases, rerun)
        for case in cases:
            if outcomes and self.lease.seconds_left <= 0:
                break
            watch.mark(WHOLE_CHUNK)  # the time of a call counts from here
            try:
                outcome = self._rerun_isolated(prepared, case)
            except CallsSpent:
                break
            if case.records and outcome.verdict is Verdict.VIOLATED:
                near = self._engine_for(prepared).find_nearest(case.records)
                outcome = replace(outcome, nearest=near)
            outcomes.append(outcome)
        return outcomes

    def explain(self, job: Job, request: Request) -> Explained:
        """Group the bugs of a campaign."""
        prepared = self.prepare_job(job)
        watch.mark(WHOLE_CHUNK)
        return explain(prepared, request)

    def sample_cases(self, job: Job, result: Result) -> FlakinessSample:
        """Run some cases of a campaign that has ended, as it ran them."""
        engine = self.prepare_job(job).engine
        watch.mark(WHOLE_CHUNK)
        return sample_cases(engine, result)

    def check_cases(
        self, job: Job, sample: FlakinessSample, is_fresh: bool
    ) -> FlakinessFound:
        """Run these cases otherwise, and return which had another outcome."""
        watch.mark(WHOLE_CHUNK)
        return check_cases(self.prepare_job(job).engine, sample, is_fresh=is_fresh)

    def _rerun_isolated(self, prepared: Prepared, case: KnownCase) -> IsolatedRerun:
        """Run a case alone; where networks are rounded, float32 is the judge."""
        engine, is_rounded = prepared.engine, self.setting.placement.is_rounded
        with reference_precision() if is_rounded else nullcontext():
            outcome = engine.replay(case.choices, case.records)
        if is_rounded := is_rounded and outcome.verdict is Verdict.PASSED:
            again = engine.replay(case.choices, case.records)
            is_rounded = again.verdict is Verdict.VIOLATED
        spec, schema = engine.program.spec, engine.program.schema
        described = describe_values(outcome.values, spec.outputs, schema)
        said = outcome.verdict, outcome.why, outcome.traceback
        return IsolatedRerun(*said, *described, is_rounded=is_rounded)


def _cases(prepared: Prepared, stream: Stream, asked: Range) -> Iterator[Cases]:
    """Return the cases of a range, in chunks."""
    if not asked.is_listed:
        stop = asked.count if asked.stop is None else asked.stop
        count = stop - asked.start
        if count:
            yield RandomCases(stream, asked.first + asked.start, count)
        return
    at = 0
    for known in prepared.engine.list_cases(asked.first, asked.count):
        start = max(0, asked.start - at)
        stop = known.count if asked.stop is None else min(known.count, asked.stop - at)
        at += known.count
        if start < stop:
            yield known.part(start, stop - start)

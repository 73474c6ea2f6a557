"""Repair a model with its own counterexamples: `nomos.train.repair`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nomos import api
from nomos.domain.domain import Domain
from nomos.domain.find import build
from nomos.errors import DomainError, ModelError, NomosError
from nomos.files import write_whole
from nomos.models.load import load_model, standing_in
from nomos.results.result import Proof
from nomos.runner.project.naming import model_name, project_root
from nomos.store.store import FOLDER
from nomos.train.repairing.judging.data import Parts, load_records, partition_records
from nomos.train.repairing.judging.evaluate import (
    Bench,
    Evaluation,
    Property,
    Records,
    SwappableModel,
    find_function,
    noise_of,
    on_records,
    usual_error,
)
from nomos.train.repairing.rounds import (
    Checkpoint,
    Goal,
    Round,
    RoundProgress,
    Rounds,
    repair_key,
    seed_of,
)
from nomos.train.repairing.trainers.choose import (
    check_same,
    make_trainer,
    path_of_repaired,
)
from nomos.train.repairing.verdict import (
    Verdict,
    repair_statement,
    verdict_on,
    why_not_kept,
)
from nomos.verify import NotProvable, ProofOptions, Prover
from nomos.verify.prove import open_proof

_PROOF_S = 10.0  # for each spec: a repair has taken longer
_AT_HAND = "the model at hand"  # what a domain is told of a model that is no file


@dataclass(frozen=True, slots=True)
class RepairPlan(Goal):
    """How a repair is done.

    Attributes:
        times: By how much the rate of violations is to fall.
        points: How many points of accuracy, in percent, may be lost.
        rounds: The most rounds of training.
        budget: Cases of each spec that the model is judged by, before and after.
        seed: Same seed, same repair.
        out: The file to write; beside the original, as NAME.repaired, by default.
        resume: Go on where the same repair was killed.
        trust: Load files that can run code, such as pickles.
        allow_overlap: Go on where inputs seem to be records to train on.
    """

    budget: int = 5000
    seed: int = 0
    out: Path | None = None
    resume: bool = False
    trust: bool = False
    allow_overlap: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repair:
    """What a repair came to: `before` and `after` are on held-out records and seeds."""

    verdict: Verdict
    statement: str
    before: Evaluation
    after: Evaluation
    rounds: tuple[Round, ...]
    chosen: int  # the round whose model was kept; 0: the first model
    how: str
    origin: str
    notes: Mapping[str, str]
    path: Path | None  # of the repaired model, where one was written
    model: Any  # the repaired model, as `load_model` gives it
    proofs: Mapping[str, Proof]  # for all inputs, of specs without a violation after

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.statement}>"


@dataclass(slots=True)
class RepairListener:
    """Is told how a repair goes on; each may be left as it is."""

    begun: Callable[[Repairing], None] = lambda repairing: None
    step: Callable[[int, float], None] = lambda number, part: None
    round: Callable[[Round], None] = lambda done: None
    ended: Callable[[Repair], None] = lambda result: None  # then its rounds are dropped


def repair(
    specs: Sequence[str | Path] | str | Path,
    model: Any,
    *,
    data: tuple[Any, Any] | tuple[Path, str] | None = None,
    settings: Mapping[str, str] | None = None,
    listener: RepairListener | None = None,
    **plan: Any,
) -> Repair:
    """Train a model on cases in which it breaks specs, and on data, till it does not.

    Args:
        specs: Files, folders or globs of specs that import one domain.
        model: A file, as `--model` takes it, a torch module, or an estimator with `fit`.
        data: Records and labels to train on, or a CSV file and the name of its label
            column; by default, what the domain's `training()` gives.
        settings: Other settings of the domain's constructor.
        listener: Is told how it goes on.
        plan: The fields of `RepairPlan`.

    The first model is left as it is. What is written, where the repair is of a file,
    lies beside it, and no file is overwritten.
    """
    given = [specs] if isinstance(specs, str | Path) else list(specs)
    properties = load_properties([str(one) for one in given])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries: Nomos warns in its notes
        repairing = Repairing(
            properties, model, data, settings or {}, RepairPlan(**plan)
        )
        return repairing.run(listener or RepairListener())


def load_properties(specs: Sequence[str]) -> list[Property]:
    """Load specs that are repaired together: of one domain, each of its own name."""
    found = []
    for path in api.find_specs(specs).all_specs():
        spec, imported = api.load_spec(path).runnable()
        found.append(Property(spec, imported, str(path)))
    domains = {one.imported.domain for one in found}
    if len(domains) > 1 or None in domains:
        raise NomosError("specs that are repaired together must import one domain")
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise NomosError(f"two specs have the same name: {', '.join(twice)}")
    return found


class Repairing:
    """A repair under way."""

    def __init__(
        self,
        properties: Sequence[Property],
        model: Any,
        data: tuple[Any, Any] | tuple[Path, str] | None,
        settings: Mapping[str, str],
        plan: RepairPlan,
    ) -> None:
        kind = properties[0].imported.domain
        assert kind is not None, "the properties were loaded together"
        self.properties, self.kind, self.plan = properties, kind, plan
        self.settings = dict(settings)
        self.is_file = isinstance(model, str | Path)
        self.name = str(model) if self.is_file else _AT_HAND
        self.path = self._path_to_write()
        self.trainer = make_trainer(model, trust=plan.trust)
        self.original = (
            load_model(model, trust=plan.trust) if self.is_file else self.trainer.model
        )
        self.swappable = SwappableModel(self.original)
        self.domain = self._build_domain(self.swappable.give)
        if not self.swappable.taken:
            raise DomainError(
                f"{type(self.domain).__name__} does not load its model with "
                "`nomos.load_model`, so no other model can be put in its place; let its "
                "constructor call `load_model(model)`"
            )
        for one in filter(None, (self.original, self.trainer.first)):
            one.schema = self.swappable.schema
        self.parts: Parts = partition_records(
            self.domain,
            self._load_data(data),
            plan.seed,
            allow_overlap=plan.allow_overlap,
        )
        training = on_records(self.domain, self.parts.training)
        self.function = find_function(properties, training, self.swappable)
        asked = getattr(self.domain, self.function)
        self.tolerance = usual_error(asked, self.parts.looked_at)
        self.held_out = self._build_bench(self.parts.held_out)

    def _build_bench(self, records: Records) -> Bench:
        return Bench(self.properties, self.domain, records, self.tolerance)

    def _path_to_write(self) -> Path | None:
        """Return what is to be written; something that exists is never overwritten."""
        path = self.plan.out or (path_of_repaired(self.name) if self.is_file else None)
        if not self.plan.resume:
            _refuse_existing(path)
        return path

    def _build_domain(self, model: Callable[[], Any]) -> Domain:
        """Return the domain, with a model in the place of the one that it loads."""
        with standing_in(self.name, model):
            return build(self.kind, self.settings | {"model": self.name})

    def _load_data(self, data: Any) -> Records | None:
        if data is None:
            return None
        first, second = data
        if isinstance(first, str | Path):
            return load_records(Path(first), second, self.domain)
        return Records(first, second)

    def run(self, listener: RepairListener) -> Repair:
        """Judge, train round by round, judge again, and write the model."""
        plan = self.plan
        before = self._judge_model()
        self._first_right = self.held_out.right(self.function)
        listener.begun(self)
        rounds = Rounds(
            self._build_bench(self.parts.training),
            self._build_bench(self.parts.looked_at),
            self.trainer,
            self.swappable,
            self.function,
            (plan, plan.seed),
        )
        rounds.needed = before.total_rate > 0
        if self.parts.warning:
            rounds.notes["data"] = self.parts.warning
        if self.tolerance:
            rounds.notes["accuracy"] = (
                f"answers are numbers: right are those within {self.tolerance:.3g} of"
                " their label, as half were before the repair where rounds are looked at"
            )
        check_same(self.trainer, self.original, rounds.data.rows, self.name)
        checkpoint, progress = self._open_checkpoint(), RoundProgress()
        if checkpoint is not None and plan.resume:
            progress = checkpoint.load()
        if not _is_own(self.path, progress):
            _refuse_existing(self.path)
        if plan.resume and not progress.rounds:
            rounds.notes["--resume"] = "there was nothing to go on with: it began anew"
        for done in progress.rounds:
            listener.round(done)
        for done in rounds.run(progress, listener.step):
            if checkpoint is not None:
                checkpoint.save(progress)
            listener.round(done)
        result = self._finish_repair(before, rounds, progress, checkpoint)
        listener.ended(result)
        if checkpoint is not None:
            checkpoint.clear()
        return result

    def _judge_model(self) -> Evaluation:
        seed = seed_of(self.plan.seed, "judge")
        return self.held_out.evaluate(self.function, seed=seed, budget=self.plan.budget)

    def _open_checkpoint(self) -> Checkpoint | None:
        """Return where rounds are kept; a model at hand has no name to find them by."""
        if not self.is_file:
            return None
        root = project_root(Path(self.properties[0].path))
        plan = {n: str(v) for n, v in asdict(self.plan).items() if n != "resume"}
        key = repair_key(
            [
                *(one.spec.source.text for one in self.properties),
                model_name(self.kind, {"model": self.name}, root),
                Path(self.name.rpartition("@")[0] or self.name).read_bytes(),
                repr(sorted(self.settings.items())),
                repr(plan),
                self.parts.origin,
            ]
        )
        return Checkpoint(root / FOLDER / "repair" / f"{key}.zip")

    def _finish_repair(
        self,
        before: Evaluation,
        rounds: Rounds,
        progress: RoundProgress,
        checkpoint: Checkpoint | None,
    ) -> Repair:
        """Write the best model and judge what was written."""
        goal, chosen = self.plan, progress.best
        after, path = before, None
        self.trainer.restore(progress.best_state)
        self.swappable.model = self.original
        refused, verdict = "", verdict_on(before, before, goal, 0)
        if chosen:
            path = self._write_model(progress, checkpoint)
            after = self._judge_model()
            noise = noise_of(self._first_right, self.held_out.right(self.function))
            verdict = verdict_on(before, after, goal, chosen, noise)
            if verdict == "not repaired":
                refused = why_not_kept(before, after, goal)
                self.swappable.model = self.original
                if path is not None:
                    path.unlink()
                after, path, chosen = before, None, 0
        tried = progress.rounds if before.total_rate or len(progress.rounds) > 1 else []
        return Repair(
            verdict,
            refused or repair_statement(before, after, goal, tried, chosen),
            before,
            after,
            tuple(progress.rounds),
            chosen,
            self.trainer.how,
            self.parts.origin,
            rounds.notes,
            path,
            self.swappable.model,
            self._prove_unviolated(after) if chosen else {},
        )

    def _prove_unviolated(self, after: Evaluation) -> dict[str, Proof]:
        """Prove what no held-out case breaks, where the domain says what its model is."""
        if not self.kind.verifies:
            return {}
        built = self._build_domain(lambda: self.swappable.model)
        found: dict[str, Proof] = {}
        options, prover = ProofOptions(seconds=_PROOF_S), None
        for one in self.properties:
            if after.rates[one.name].count:
                continue
            try:
                prover = prover or Prover(built)
                found[one.name] = prover.verify(one.program(built), options)
            except NotProvable as error:
                found[one.name] = open_proof(error, one.spec, options)
        return found

    def _write_model(
        self, progress: RoundProgress, checkpoint: Checkpoint | None
    ) -> Path | None:
        """Write the model and take it from there: what is judged is what is kept."""
        if self.path is None:
            self.swappable.model = self.trainer.model
            return None
        if not _is_own(self.path, progress):  # somebody's, written meanwhile
            _refuse_existing(self.path)
        content = self.trainer.content()
        progress.written = repair_key([content])
        if checkpoint is not None:  # before: what is there after a kill is known
            checkpoint.save(progress)
        try:
            write_whole(self.path, content)
        except OSError as error:
            raise ModelError(f"{self.path} cannot be written: {error}") from error
        _, at, factory = self.name.rpartition("@")
        name = f"{self.path}@{factory}" if at else str(self.path)
        schema = self.swappable.schema
        self.swappable.model = load_model(name, trust=True, schema=schema)
        return self.path


def _refuse_existing(path: Path | None) -> None:
    if path is not None and path.exists():
        raise NomosError(
            f"{path} exists and is not overwritten: move it away, or name another "
            "file with --out"
        )


def _is_own(path: Path | None, progress: RoundProgress) -> bool:
    """Tell whether a file is what the same repair wrote before it was killed."""
    if path is None or not progress.written or not path.is_file():
        return False
    return repair_key([path.read_bytes()]) == progress.written

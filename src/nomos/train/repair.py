"""Repair a model with its own counterexamples: `nomos.train.repair`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomos import api
from nomos.domain.domain import Domain
from nomos.domain.find import build
from nomos.errors import DomainError, ModelError, NomosError
from nomos.models.extras import as_model_error
from nomos.models.formats.guarded import GuardedModel
from nomos.models.load import load_model, standing_in
from nomos.results.result import Proof
from nomos.train.evaluate import (
    Bench,
    Evaluation,
    Property,
    Records,
    SwappableModel,
    find_function,
    find_scale,
    on_records,
)
from nomos.train.records import load_records, partition_records
from nomos.train.repairable import make_repairable, paths_of_repaired, refuse_existing
from nomos.train.rounds import Goal, Round, Rounds
from nomos.train.verdict import Verdict, repair_statement, verdict_on
from nomos.verify import NotProvable, ProofOptions, Prover
from nomos.verify.prove import open_proof

_PROOF_S = 10.0  # for each spec: a repair has taken longer
_AT_HAND = "the model at hand"  # what a domain is told of a model that is no file


@dataclass(frozen=True, slots=True)
class RepairPlan(Goal):
    """How a repair is done.

    Attributes:
        times: By how much the rate of violations is to fall.
        points: How many points of accuracy, or R² of numbers, in percent, may be lost.
        rounds: The most rounds.
        budget: Cases of each spec that a model is evaluated by.
        seed: Same seed, same repair.
        out: The file to write; beside the original, as NAME.repaired, by default.
        trust: Load files that can run code, such as pickles.
        allow_overlap: Go on where inputs seem to be records to train on.
    """

    out: Path | None = None
    trust: bool = False
    allow_overlap: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repair:
    """What a repair came to: `before` and `after` are on records not trained on."""

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


# Is called with a repair and each round of it, when that is over; the first judges the model.
RepairListener = Callable[["Repairing", Round], None]


def repair(
    specs: Sequence[str | Path] | str | Path,
    model: Any,
    *,
    data: tuple[Any, Any] | tuple[Path, str] | None = None,
    settings: Mapping[str, str] | None = None,
    listener: RepairListener = lambda repairing, done: None,
    **plan: Any,
) -> Repair:
    """Make a model keep its specs, by training it again or by a guard around it.

    Args:
        specs: Files, folders or globs of specs that import one domain.
        model: A file of a model, or an object: an estimator with `fit` is trained again,
            any other model gets a guard.
        data: Records and labels to train on, or a CSV file and the name of its label
            column; by default, what the domain's `training()` gives.
        settings: Other settings of the domain's constructor.
        listener: Is called with the repair and each round of it.
        plan: The fields of `RepairPlan`.

    The first model is left as it is. What is written, where the repair is of a file,
    lies beside it, and no file is overwritten.
    """
    given = [specs] if isinstance(specs, str | Path) else list(specs)
    properties = load_properties([str(one) for one in given])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries: Nomos warns in its notes
        own = data, settings or {}, RepairPlan(**plan)
        return Repairing(properties, model, *own).run(listener)


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
        self.source = Path(model) if isinstance(model, str | Path) else None
        self.name = _AT_HAND if self.source is None else str(model)
        self.repairable = make_repairable(model, trust=plan.trust)
        if self.source is not None:
            for path in (plan.out,) if plan.out else paths_of_repaired(self.source):
                refuse_existing(path)
        self.swappable = SwappableModel(self.repairable.first)
        self.domain = self._build_domain(self.swappable.give)
        if not self.swappable.taken:
            raise DomainError(
                f"{type(self.domain).__name__} does not load its model with "
                "`nomos.load_model`, so no other model can be put in its place; let its "
                "constructor call `load_model(model)`"
            )
        self.repairable.first.schema = self.swappable.schema
        given = self._load_data(data)
        self.parts = partition_records(
            self.domain, given, plan.seed, allow_overlap=plan.allow_overlap
        )
        with as_model_error(f"{self.name} cannot answer the inputs"):
            self._learn_answers()

    def _learn_answers(self) -> None:
        """Find the function that asks the model of a record, and match its answers."""
        inputs = self.parts.inputs
        on_inputs = on_records(self.domain, inputs)
        name = find_function(self.properties, on_inputs, self.swappable)
        scale = find_scale(getattr(on_inputs, name), inputs)
        self.bench = Bench(
            self.properties, self.domain, inputs, name, self.swappable, scale
        )
        answers, rows = self.bench.ask_model()
        labels = [*inputs.labels, *(self.parts.training or inputs).labels]
        self.repairable.learn_answers(name, rows, answers, labels)

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
        """Judge, make models round by round, choose, and write the model."""
        rounds = Rounds(self.repairable, self.parts, self.bench, self.plan)
        for done in rounds.run():
            listener(self, done)
        return self._finish_repair(rounds)

    def _finish_repair(self, rounds: Rounds) -> Repair:
        plan, repairable, chosen = self.plan, self.repairable, rounds.choose()
        before, after = rounds.done[0].without(), rounds.claim()
        verdict = verdict_on(before, after, plan, chosen)
        statement = repair_statement(before, after, plan, rounds.done, chosen)
        if verdict == "not repaired" and chosen:
            statement = (
                "no model was kept: what some records choose did not hold on the others: "
                f"{statement}"
            )
            after, chosen = before, 0
        notes = {"data": self.parts.warning} if self.parts.warning else {}
        recipe = rounds.done[chosen or -1].recipe
        notes |= recipe.notes if recipe is not None else {}
        path, model = None, repairable.first
        if chosen:
            path, model = self._write_model(rounds.make_model(chosen))
        self.swappable.model = model
        proofs = self._prove_unviolated(after) if chosen else {}
        done = before, after, tuple(rounds.done), chosen
        how = repairable.how, self.parts.origin, notes
        return Repair(verdict, statement, *done, *how, path, model, proofs)

    def _write_model(self, model: Any) -> tuple[Path | None, Any]:
        """Write the model of a file, and return it as it is read from there."""
        if self.source is None:
            return None, model
        beside = isinstance(model, GuardedModel) and not self.repairable.is_pickle
        path = self.plan.out or paths_of_repaired(self.source)[beside]
        refuse_existing(path)  # somebody's, written meanwhile
        try:
            self.repairable.write(model, self.source, path)
        except OSError as error:
            raise ModelError(f"{path} cannot be written: {error}") from error
        return path, load_model(path, trust=True, schema=self.swappable.schema)

    def _prove_unviolated(self, after: Evaluation) -> dict[str, Proof]:
        """Prove what no held-out case breaks, where the domain says what its model is."""
        if not self.kind.verifies or isinstance(self.swappable.model, GuardedModel):
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

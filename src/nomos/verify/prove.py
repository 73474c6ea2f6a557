"""Prove a property for every input of a scope, or find a case that breaks it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.domain import Domain
from nomos.engine.choices import pattern
from nomos.engine.engine import Engine
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program
from nomos.errors import NomosError, NotProvable
from nomos.lang import core
from nomos.models.kinds import extract_structure
from nomos.results.describe import describe_values
from nomos.results.real_rows import RealRows
from nomos.results.result import Bug, Nearest, Proof, Scope
from nomos.structures.joined import join_networks
from nomos.structures.model import SINGLE, Layers, Structure
from nomos.verify.assumptions import assumptions, name_rounding
from nomos.verify.engines.search import TIME_IS_UP, Deadline, Findings
from nomos.verify.engines.settle import divide_for, prove_parts, settle
from nomos.verify.falsify import (
    FEWER_SAMPLES,
    SAMPLES,
    climb_to_violation,
    is_impossible,
    move_violation,
    sample_violation,
)
from nomos.verify.premises import count_premises, join_proofs, weigh_premises
from nomos.verify.question.cases import AskedCases
from nomos.verify.question.space import EVERY_FEATURE, around, whole, within
from nomos.verify.question.symbolic import question
from nomos.verify.real import asker, compare, data_rows, fit_space


@dataclass(frozen=True, slots=True)
class ProofOptions:
    """How far a proof goes.

    Attributes:
        within: The part of the schema to prove, such as `age=18..70,sex=Female`.
        radius: Prove around each row of the data: how far a feature may be from it.
        rows: Around how many rows, evenly chosen; None: all.
        seconds: CPU seconds after which to give up, for each property or each row.
        counting: CPU seconds to count violations in, after the first was found.
    """

    within: str = ""
    radius: Mapping[str, float] | None = None
    rows: int | None = None
    seconds: float = 60.0
    counting: float = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class ComparedModel:
    """A domain's function, and the structure that was compared with it."""

    structure: Structure
    compared: int


@dataclass(frozen=True, slots=True, eq=False)
class UnreadModel:
    """A model of which no proof is possible, and why."""

    why: NotProvable


class Prover:
    """Proves properties of one domain; reads and compares its models once."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.data = data_rows(domain)
        assert domain.schema is not None
        self.space = whole(domain.schema)
        self.outside = self.space.list_outside(self.data)
        self._models: dict[str, ComparedModel] = {}

    def verify(self, program: Program, options: ProofOptions | None = None) -> Proof:
        """Prove one property; raises NotProvable for what no proof covers.

        A violation needs no proof: it is looked for also where the model cannot be read.
        """
        options = options or ProofOptions()
        started = time.process_time()
        cases = self.parse_cases(program, options.within)
        model: ComparedModel | UnreadModel
        try:
            model = self._find_model(cases)
        except NotProvable as error:
            if self._is_endpoint(cases):  # each question has its price
                raise
            model = UnreadModel(error)
        attempt = _Attempt(model, self.data, Engine(program), options)
        if options.radius is not None:
            proof = attempt.around(cases, options.radius)
        else:
            proof = attempt.verify(cases)
        seconds = time.process_time() - started
        return replace(proof, seconds=seconds, outside=self.outside)

    def parse_question(
        self, program: Program, part: str
    ) -> tuple[AskedCases, ComparedModel]:
        """Return what a spec asks, for which inputs, and of which model."""
        cases = self.parse_cases(program, part)
        return cases, self._find_model(cases)

    def parse_cases(self, program: Program, part: str) -> AskedCases:
        """Return what a spec asks, for which inputs."""
        schema = self.domain.schema
        assert schema is not None
        own = {"getFeat", "setFeat"} & set(dir(type(self.domain)))
        if own:
            raise NotProvable(f"the domain has a `{own.pop()}` of its own")
        asked = question(program.spec, schema, self.domain.verifies, program.functions)
        space = within(self.space, part) if part else self.space
        for name, one in space.ranges.items():
            is_whole = one is self.space.ranges[name]
            if one.names is None and one.feature.takes_missing and is_whole:
                raise NotProvable(
                    f"`{name}` may be missing, and a proof is about values: give those"
                    f" that it is for, as in --within {name}={one.low:g}..{one.high:g}"
                )
        space = fit_space(space, self.data.dtype)
        asks = {function: asker(self.domain, function) for function in asked.functions}
        return AskedCases(asked, space, self.data.dtype, asks)

    def _find_model(self, cases: AskedCases) -> ComparedModel:
        """Return the model of a question, compared with all functions that are asked."""
        found = []
        for function in cases.question.functions:
            if function not in self._models:
                self._models[function] = self._compare_model(cases, function)
            found.append(self._models[function])
        compared = min(one.compared for one in found)
        names = [
            self.domain.verifies[function].partition(".")[0]
            for function in cases.question.functions
        ]
        if len(set(names)) == 1:
            return replace(found[0], compared=compared)
        structures = [one.structure for one in found]
        joined = join_networks(dict(zip(names, structures, strict=True)))
        return ComparedModel(joined, compared)

    def _is_endpoint(self, cases: AskedCases) -> bool:
        name = self.domain.verifies[cases.question.functions[0]].partition(".")[0]
        return getattr(getattr(self.domain, name, None), "is_endpoint", False)

    def _compare_model(self, cases: AskedCases, function: str) -> ComparedModel:
        attribute, _, output = self.domain.verifies[function].partition(".")
        model = getattr(self.domain, attribute, None)
        if model is None:
            name = type(self.domain).__name__
            raise NotProvable(f"{name} has no model `{attribute}`, as it declares")
        structure = extract_structure(model, self.space.schema.width)
        if isinstance(structure, Layers) and self.data.dtype.itemsize < 8:
            # Then libraries may calculate in the type of the rows.
            link = 16 * SINGLE if structure.link else 0.0
            structure = replace(structure, roundoff=SINGLE, link=link)
        said = function, output, cases.asks[function]
        compared = compare(structure, *said, self.space, self.data)
        return ComparedModel(structure, compared)


def verify(
    spec: core.Spec,
    domain: Domain,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    modules: Mapping[str, ModuleType] | None = None,
    options: ProofOptions | None = None,
) -> Proof:
    """Prove one property of a domain's model, or find a case that breaks it."""
    return Prover(domain).verify(Program(spec, domain, functions, modules), options)


def open_proof(why: NotProvable, spec: core.Spec, options: ProofOptions) -> Proof:
    """Return a proof that is undecided: its reason, and the place in the spec."""
    around = options.radius is not None
    scope: Scope = "around" if around else "within" if options.within else "schema"
    return Proof("undecided", scope, options.within, reason=why.picture(spec.source))


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """One property, one model: what is tried on a space."""

    model: ComparedModel | UnreadModel
    data: Array
    engine: Engine
    options: ProofOptions

    def verify(self, cases: AskedCases) -> Proof:
        """Settle all cases of a space, as far as the time allows."""
        counting = 0.0 if self.options.radius is not None else self.options.counting
        is_read = isinstance(self.model, ComparedModel)
        clock = time.process_time if is_read else time.monotonic
        limits = Deadline(self.options.seconds, counting, clock)
        proof = self._conclude_proof(cases, self._find_out(cases, limits))
        return self._weigh_premises(cases, proof, limits)

    def _find_out(self, cases: AskedCases, limits: Deadline) -> Findings:
        """Return what drawn cases and the engines say of a question.

        A violation that was found stays, whatever no proof covers.
        """
        model, data = self.model, self.data
        structure = model.structure if isinstance(model, ComparedModel) else None
        hopeful = structure is not None and not is_impossible(cases, structure)
        samples = SAMPLES if hopeful else FEWER_SAMPLES
        samples = 0 if self.options.radius is not None else samples
        try:
            found = sample_violation(cases, data, limits, samples)
        except NotProvable as error:
            raise model.why if isinstance(model, UnreadModel) else error from None
        if structure is not None and hopeful and found is None:
            found = climb_to_violation(cases, structure, data, limits)
        try:
            total = self._decide_parts(cases, limits)
        except NotProvable:
            if found is None:
                raise
            return Findings(None, example=found, method="search")
        total.example = found or total.example
        return total.drop_contradictions()

    def _weigh_premises(
        self, cases: AskedCases, proof: Proof, limits: Deadline
    ) -> Proof:
        """Add how many cases have each premise; where none has any, nothing was proved."""
        if proof.verdict == "undecided" or isinstance(self.model, UnreadModel):
            return proof
        premises = count_premises(
            cases,
            self.model.structure,
            lambda asked: self._find_out(asked, replace(limits, found_at=None)),
        )
        return weigh_premises(proof, premises, len(cases.question.ensures))

    def _conclude_proof(self, cases: AskedCases, total: Findings) -> Proof:
        """Return what was found as a proof."""
        proof = Proof(
            verdict="undecided",
            scope="within" if self.options.within else "schema",
            text=self.options.within,
            method=total.method,
        )
        if isinstance(self.model, ComparedModel):
            proof = replace(
                proof,
                assumptions=assumptions(self.model.structure, cases.question),
                compared_rows=self.model.compared,
            )
        if total.total == 0:
            return replace(proof, cases=0, reason="no case fulfils `requires`")
        if total.total is not None and not cases.space.is_real:
            at_least = max(total.bad, int(total.example is not None))
            proof = replace(
                proof,
                cases=total.total,
                violating=(at_least, total.total - total.good),
                decided=total.good + total.bad,
            )
        if total.example is not None:
            witness, near = self._confirm_violation(cases, total.example)
            return replace(
                proof,
                verdict="violated",
                witness=witness,
                nearest=near,
                reason=total.contradiction,
            )
        if total.contradiction:
            return replace(proof, reason=total.contradiction)
        if total.good == total.total:
            small = (name_rounding(total.rounding),) if total.rounding else ()
            taken = (*small, *proof.assumptions)
            return replace(proof, verdict="holds", assumptions=taken)
        return replace(proof, reason=TIME_IS_UP)

    def _decide_parts(self, cases: AskedCases, limits: Deadline) -> Findings:
        """Settle the parts of a question; returns what was found in all, and how."""
        if isinstance(self.model, UnreadModel):
            raise self.model.why
        data, model, parts, why = self.data, self.model.structure, [], None
        for part in divide_for(cases, model):
            try:
                parts.append(settle(part, data, model, limits))
            except NotProvable as error:
                why = error
        example = next((part.example for part in parts if part.example), None)
        if why and example is None:
            raise why
        method = ", ".join(dict.fromkeys(part.method for part in parts if part.method))
        return Findings(
            None if why else sum(part.total or 0 for part in parts),
            sum(part.good for part in parts),
            sum(part.bad for part in parts),
            example,
            method,
            rounding=max((part.rounding for part in parts), default=0.0),
        )

    def around(self, cases: AskedCases, radius: Mapping[str, float]) -> Proof:
        """Prove the property around each row of the data."""
        space = cases.space
        unknown = [n for n in radius if n not in space.ranges and n != EVERY_FEATURE]
        if unknown:
            raise NomosError(f"--radius: there is no feature `{unknown[0]}`")
        count = len(self.data) if self.options.rows is None else self.options.rows
        chosen = np.unique(np.linspace(0, len(self.data) - 1, count).astype(int))
        spaces = {
            int(row): fit_space(around(space, self.data[row], radius), cases.dtype)
            for row in chosen[cases.space.inside(self.data)[chosen]]
        }
        proved: dict[int, Findings] = {}
        if isinstance(self.model, ComparedModel):
            model, seconds = self.model.structure, self.options.seconds
            proved = prove_parts(cases, spaces, model, seconds)
        found, why = {}, None
        for row, own in spaces.items():
            part = replace(cases, space=own)
            try:
                if row in proved:
                    one = self._conclude_proof(part, proved[row].drop_contradictions())
                    limits = Deadline(self.options.seconds, 0.0)
                    found[row] = self._weigh_premises(part, one, limits)
                else:
                    found[row] = self.verify(part)
            except NotProvable as error:
                why = error
                found[row] = Proof("undecided", reason=str(error))
        if why and not any(one.verdict == "violated" for one in found.values()):
            raise why
        far = {name: "all" if np.isinf(r) else f"{r:g}" for name, r in radius.items()}
        text = ", ".join(f"{name}={distance}" for name, distance in far.items())
        text = text.replace(f"{EVERY_FEATURE}=", "every feature=")
        return replace(join_proofs(found), scope="around", text=text)

    def _confirm_violation(
        self, cases: AskedCases, example: dict[str, Any]
    ) -> tuple[Bug, dict[str, Nearest]]:
        """Move a violation towards the data, and run it alone on the real model."""
        for case in (move_violation(cases, example, self.data), example):
            question = cases.question
            records = {n: cases.record(case, n) for n in question.inputs}
            rows = tuple(tuple(record.tolist()) for record in records.values())
            draws = tuple(
                pattern(case[draw.variable]) if draw.is_real else case[draw.variable]
                for draw in question.draws
            )
            choices = (*range(len(rows)), *draws)
            outcome = self.engine.replay(choices, rows)
            if outcome.verdict is Verdict.VIOLATED:
                spec, schema = question.spec, cases.space.schema
                inputs, outputs = describe_values(outcome.values, spec.outputs, schema)
                witness = Bug(
                    id="",
                    case=-1,
                    choices=choices,
                    failed=outcome.why,
                    inputs=inputs,
                    outputs=outputs,
                    records=rows,
                )
                real = RealRows(self.data, schema)
                return witness, {n: real.nearest(r) for n, r in records.items()}
        if outcome.verdict is Verdict.UNCHANGED:
            raise NotProvable(
                "the cases that break it change nothing (`allow unchanged;` counts them)"
            )
        raise NotProvable(
            "a violation that was found is none when it is run in isolation"
        )

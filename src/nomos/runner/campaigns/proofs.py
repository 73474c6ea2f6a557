"""Proofs as results: of a property alone, or beside campaigns that found nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from nomos.domain.domain import Domain
from nomos.domain.meter import CallsSpent
from nomos.errors import NomosError, NotProvable, StoreError
from nomos.results.bugs import bug_id
from nomos.results.result import Counts, Proof, Result, Subject
from nomos.results.verdict import outside_text, with_proof
from nomos.runner.campaigns.fingerprint import fingerprint
from nomos.runner.jobs import Prepared
from nomos.runner.live import Reopened
from nomos.store.store import Store
from nomos.verify.prove import ProofOptions, Prover, open_proof


@dataclass(slots=True)
class Proofs:
    """Proves properties of jobs; reads each model once, and stores what came of it."""

    options: ProofOptions
    store: Store | None
    warn: Callable[[str], None]
    _provers: dict[Domain, Prover] = field(default_factory=dict)
    _done: dict[str, Proof] = field(default_factory=dict)  # by what it depends on

    def prove_alone(self, live: Reopened) -> Result:
        """Prove a property, and return that as a result without tested cases."""
        prepared = live.ready_job
        subject, marks = prepared.subject, fingerprint(prepared)
        proof = _name_case(self._proof(prepared), subject)
        counts = Counts(seconds=proof.seconds, k=subject.k or 0)
        blank = Result(subject, 0, 0, "proof", counts=counts, fingerprint=marks)
        result = with_proof(blank, proof)
        if self.store is not None:
            try:
                id = self.store.begin(result)
                self.store.checkpoint(id, result, {}, finished=True)
            except StoreError as error:
                self.warn(f"this proof is not stored: {error}")
        return replace(result, live=live)

    def certify(self, live: Reopened, proof: Proof) -> dict[str, Any]:
        """Return a certificate of a proof; raises an error that says why there is none."""
        from nomos.verify.certificate import make_certificate

        prepared, options = live.ready_job, self.options
        program, prover = prepared.engine.program, self._prover(prepared.domain)
        try:
            limits = options.within, options.seconds
            return make_certificate(prover, program, proof, *limits)
        except NotProvable as error:
            raise NomosError(error.picture(program.spec.source)) from None

    def beside(self, result: Result) -> Result:
        """Try a proof where a campaign found nothing, once for all its seeds."""
        if result.verdict not in ("none-found", "holds"):
            return result
        assert isinstance(result.live, Reopened)
        key = repr((result.subject.spec, fingerprint(result.live.ready_job)))
        if key not in self._done:
            with result.live.meter_calls("proof"):
                proof = self.prove_alone(result.live).proof
            assert proof is not None
            self._done[key] = proof
            result = replace(result, calls=result.live.count_calls(result.calls))
        return with_proof(result, self._done[key])

    def _proof(self, prepared: Prepared) -> Proof:
        """Prove one spec; what cannot be proved is undecided, with its reason and place."""
        program = prepared.engine.program
        try:
            return self._prover(prepared.domain).verify(program, self.options)
        except CallsSpent:
            error = NotProvable("the calls are used up; `--calls` gives more")
        except NotProvable as why:
            error = why
        return open_proof(error, program.spec, self.options)

    def _prover(self, domain: Domain) -> Prover:
        if domain not in self._provers:
            prover = self._provers[domain] = Prover(domain)
            if prover.outside is not None:
                self.warn(f"{type(domain).__name__}: {outside_text(prover.outside)}")
        return self._provers[domain]


def _name_case(proof: Proof, subject: Subject) -> Proof:
    """Give the case of a proof its name: it is called by its records and draws."""
    bug = proof.witness
    if bug is None:
        return proof
    numbers = [number for row in bug.records for number in row]
    parts = (*numbers, *bug.choices[len(bug.records) :])
    name = bug_id(subject.spec, subject.model, dict(subject.settings), parts)
    failed = next((n for n, e in enumerate(subject.ensures) if e.text == bug.failed), 0)
    return replace(proof, witness=replace(bug, id=name, failures=(failed,)))

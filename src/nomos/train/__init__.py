"""Repair: a model is made to keep its specs, and evaluated on records it was not trained on.

`repair` draws cases, makes models round by round (`rounds`, `learner`), keeps the best one and
returns a `Repair` with its verdict (`verdict`). What a spec asks for is read from cases
(`constraints`): a column that may not matter is masked, a monotonicity is a constraint of
the library where it has one, else a guard around the model (`nomos.models.formats.guarded`). Of
other specs, violated cases are added to the data under labels that satisfy them (`cases`).

The invariant: every record is evaluated by models that were not trained on it and not chosen
by it, and each claim has an interval. A repair that loses more accuracy than allowed or breaks
another spec is no repair, whatever became of the bugs.

Repair once fine-tuned networks, with a loss for specs. It left: it lowered rates, and a guard
makes them 0, for any model and without its training.
"""

from nomos.train.repair import Repair, RepairListener, RepairPlan, repair

__all__ = ["Repair", "RepairListener", "RepairPlan", "repair"]

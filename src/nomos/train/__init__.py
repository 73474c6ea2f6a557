"""Repair: a model is trained further on the cases in which it breaks its specs.

`repair` collects violated cases, trains (`repairing/trainers/`), keeps the best round
(`rounds`) and returns a `Repair` with its verdict (`verdict`).

The invariant: a model is judged before and after on cases and records that it was not trained
on, and a repair claims no more than those show. A repair that loses accuracy or breaks another
spec is no repair, whatever became of the bugs.
"""

from nomos.train.repairing.repair import Repair, RepairListener, RepairPlan, repair

__all__ = ["Repair", "RepairListener", "RepairPlan", "repair"]

"""Models trained on the cases in which they break specifications.

`Repairing` joins the parts: `judging/` measures rates and accuracy, `cases/` turns specs into
labels, losses and constraints, `trainers/` train, `Rounds` decide what to train next.

The invariant: no model is written that is worse on held-out records, in any spec or in
accuracy beyond the limit. Inputs are in three parts (trained on, watched, held out), since
the best of several rounds looks better than it is where it was chosen.
"""

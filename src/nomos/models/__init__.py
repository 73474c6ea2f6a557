"""Models behind one small interface: `load_model(source)`.

What a domain asks is always `predict(rows)` and, where the model has scores, `scores(rows)`,
whichever library made the model. An `Adapter` (`adapter`) stands around the library and
keeps the contract that the engine relies on: one answer for each row, in their order, rows
unchanged, an empty batch answered without the model. `kinds` is the table of the kinds of
models, each a `ModelKind` in a file of its own under `formats/`; `recognise` finds the
kind of a file by its content, and `screening/` looks through files whose library would
believe whatever is in them.

The invariant: without trust, nothing that a model file holds is executed. So content
decides what a file is, not its name, and what only its library could check is checked
before the library reads it. Kinds are modules behind one table, because a model is met in
six places (loading, proofs, guided search, repair, `nomos doctor`, the docs), and each of
them asked for class names of its own before.
"""

from nomos.models.adapter import NoScores
from nomos.models.load import Model, load_model, trusting
from nomos.models.serving.endpoints import JsonEndpoint

__all__ = ["JsonEndpoint", "Model", "NoScores", "load_model", "trusting"]

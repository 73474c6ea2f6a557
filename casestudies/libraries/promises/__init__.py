"""The promises, each with the sentence of the documentation that makes it.

A source is a module, where the sentence stands in a docstring of the installed version,
or the address of a page.
"""

from casestudies.libraries.promises.answers import ANSWERS
from casestudies.libraries.promises.sources import Source
from casestudies.libraries.promises.training import TRAINING

PROMISES: dict[str, tuple[Source, ...]] = TRAINING | ANSWERS


def learners_of(promise: str) -> list[str]:
    """Return the learners that make a promise."""
    return [learner for source in PROMISES[promise] for learner in source.learners]

"""The types of the language, and what a domain offers to a spec."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

MAX_INT = 2**32 - 1


class Type(Enum):
    """The type of an expression; `UNKNOWN` is what a domain function does not say."""

    INT = "an integer"
    REAL = "a real number"
    BOOL = "a truth value"
    STRING = "a string"
    DATE = "a date"
    RECORD = "a record"
    LIST = "a list of inputs"
    UNKNOWN = "a value of unknown type"


NUMBERS = frozenset({Type.INT, Type.REAL})


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language: how many arguments it takes, and what it gives."""

    name: str
    least: int
    most: int | None  # None: any number
    returns: Type = Type.UNKNOWN
    draws: bool = False  # it is handed a generator
    batched: bool = False  # it is written for many cases, as models are
    k: int | None = 0  # how many calls of a model one call is; None: it depends

    @property
    def takes(self) -> str:
        """The number of arguments, in words."""
        count = str(self.least)
        if self.most is not None and self.most != self.least:
            count += f" to {self.most}"
        words = f"{count} argument{'' if count == '1' else 's'}"
        return f"at least {words}" if self.most is None else words


@dataclass(frozen=True, slots=True)
class FeatureType:
    """A feature of the domain's records."""

    name: str
    type: Type
    levels: tuple[str, ...] | None = None  # all that it can be, by their names
    takes_missing: bool = False
    is_ordered: bool = False  # the lowest level first; a feature is then its position
    unseen: tuple[str, ...] | None = None  # of the levels; None: it can have none


@dataclass(frozen=True, slots=True)
class Offer:
    """What an imported domain gives to a spec; the checker needs nothing else of it."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    features: tuple[FeatureType, ...] | None = None  # None: the domain has no schema
    input_type: Type = Type.RECORD
    has_labels: bool = True
    # The names that functions answer with, the lowest first.
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


BUILT_IN = {
    function.name: function
    for function in (
        Function("getFeat", 2, 2),
        Function("setFeat", 3, 3, Type.RECORD),
        Function("label", 1, 1),
        Function("randInt", 2, 2, Type.INT, draws=True),
        Function("randReal", 2, 2, Type.REAL, draws=True),
        Function("strConcat", 2, 2, Type.STRING),
        Function("abs", 1, 1),
        Function("min", 1, None),
        Function("max", 1, None),
        Function("round", 1, 2),
        Function("len", 1, 1, Type.INT),
        Function("isclose", 2, 4, Type.BOOL),
        Function("missing", 1, 1, Type.BOOL),
        Function("norm", 1, 2, Type.REAL),
        Function("unseen", 1, 1, Type.STRING),
        Function("date", 1, 1, Type.DATE),
        Function("days", 1, 1),
        *(Function(name, 1, 1) for name in ("sqrt", "exp", "log", "sum", "mean")),
    )
}
# Built in, but everybody's words: a spec or a domain may use them for something else.
SHARED_WORDS = frozenset(
    {"norm", "sqrt", "exp", "log", "sum", "mean", "missing", "unseen", "date", "days"}
)
# A domain's function of such a name serves the language, and asks no model.
NEVER_MODELS = BUILT_IN.keys() - SHARED_WORDS
# What a domain may bring its own version of without a word.
OVERRIDABLE = frozenset({"getFeat", "setFeat", "label", "randInt", "strConcat"})

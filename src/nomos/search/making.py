"""Where a search meets a program: its cases are made, and it is told how near they come."""

from functools import cached_property
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.domain import Domain
from nomos.domain.failure import raise_own
from nomos.domain.meter import CallsSpent, current_lease, describe_error
from nomos.domain.schema import Category, Feature, OneHot, Real, Schema
from nomos.engine.cases import MadeCases, MadeInputs, Records
from nomos.engine.program import Program
from nomos.errors import NomosError, NotProvable
from nomos.models.kinds import extract_structure
from nomos.results.real_rows import RealRows
from nomos.results.result import Nearest
from nomos.search.margins import Margins, Unscored
from nomos.search.strategy import Material, Proposal
from nomos.shrinking.trying import uses_labels
from nomos.structures.trees import TreeKeys, Trees


class Encoding:
    """Rows of a source as one number for each feature, and the range of each.

    A name of a category or of a one-hot group is the position of its level, so that
    every number in a feature's range stands for a row that the schema allows.
    """

    def __init__(self, schema: Schema, rows: Array) -> None:
        self.schema = schema
        self.dtype = rows.dtype
        self.data = self.encode(rows)  # one row of numbers for each row
        ranges = [self._range_of(number) for number in range(len(schema.features))]
        self.low, self.high = (np.array(side) for side in zip(*ranges, strict=True))
        self.whole = (np.rint(self.data) == self.data).all(axis=0)
        for number, feature in enumerate(schema.features):
            if type(feature) is not Feature:  # of a plain one, only the data tell
                self.whole[number] = not isinstance(feature, Real)

    def _range_of(self, number: int) -> tuple[float, float]:
        """Return the smallest and the largest value; where the schema has none, the data's."""
        from nomos.verify.question.space import feature_range  # with all proofs

        try:
            one = feature_range(*self.schema.place(number))
        except NotProvable:
            own = self.data[:, number]
            return float(own.min()), float(own.max())
        high = one.high if one.names is None else len(one.names) - 1
        return float(one.low), float(high)

    def encode(self, rows: Array) -> Array:
        """Return one number for each feature of rows."""
        found = []
        for number, feature in enumerate(self.schema.features):
            columns = rows[:, self.schema.place(number)[1]]
            is_group = isinstance(feature, OneHot)
            found.append(columns.argmax(axis=1) if is_group else columns[:, 0])
        return np.stack(found, axis=1).astype(np.float64)

    def decode(self, values: Array) -> Array:
        """Return the rows that numbers stand for."""
        if not any(isinstance(feature, OneHot) for feature in self.schema.features):
            return values.astype(self.dtype)  # a column for each feature
        rows = np.zeros((len(values), self.schema.width), dtype=self.dtype)
        for number, feature in enumerate(self.schema.features):
            columns = self.schema.place(number)[1]
            own = values[:, number]
            if isinstance(feature, OneHot):
                at = columns.start + own.astype(np.int64)
                rows[np.arange(len(values)), at] = 1
            else:
                rows[:, columns.start] = own
        return rows


class Making:
    """Makes the inputs of a program; raises NomosError where they cannot be made."""

    def __init__(self, program: Program) -> None:
        self._program = program
        if program.schema is None or program.rows is None:
            raise NomosError(
                f"inputs can be made from those of {type(program.domain).__name__} only"
                " if it has a schema: it says which values are allowed"
            )
        if uses_labels(program.spec):
            raise NomosError(
                f"{program.spec.name} asks for the label of an input, and an input that"
                " is made has none"
            )
        self._encoding = Encoding(program.schema, program.source)
        self._real = RealRows(program.source, program.schema)

    @cached_property
    def _margins(self) -> Margins | str:
        """What tells how near cases come; or why nothing does."""
        domain = self._program.domain
        for attribute in domain.verifies.values():
            model: Any = getattr(domain, attribute.partition(".")[0], None)
            if hasattr(model, "keep_scores"):
                model.keep_scores()
        try:
            return Margins(self._program)
        except Unscored as error:
            return str(error)
        except BaseException as error:
            raise_own(error)
            current_lease().note_exception(describe_error(error))
            return f"the model raised {describe_error(error)}"
        except CallsSpent:
            return "the calls do not suffice to ask the model for scores"

    def keep_scores(self) -> None:
        """Let models keep the scores that come with answers: `signals` asks for them."""
        _ = self._margins

    def build_material(self, is_guided: bool = True) -> Material:
        """Return what a search has to know; most of it where it is guided."""
        unguided, cuts, encoding = "nobody asked", None, self._encoding
        if is_guided:
            unguided = self._margins if isinstance(self._margins, str) else ""
            cuts = _model_thresholds(self._program.domain, encoding)
        inputs = len(self._program.spec.inputs)
        missing = [getattr(f, "missing", False) for f in encoding.schema.features]
        return Material(
            low=np.tile(encoding.low, inputs),
            high=np.tile(encoding.high, inputs),
            whole=np.tile(encoding.whole, inputs),
            data=encoding.data,
            inputs=inputs,
            cuts=None if cuts is None else cuts * inputs,
            unguided=unguided,
            missing=np.tile(missing, inputs) if any(missing) else None,
        )

    def build_inputs(self, cases: Proposal) -> MadeInputs:
        """Return the records of the cases that a search proposes."""
        inputs = len(self._program.spec.inputs)
        values = cases.values.reshape(len(cases) * inputs, -1)
        return MadeInputs(self._encoding.decode(values), inputs, cases.words)

    def measure_signals(self, cases: MadeCases) -> Array | None:
        """Return how near cases come to a violation; None where the model fails."""
        if isinstance(self._margins, str):
            return None
        try:
            return self._margins.measure_cases(cases)
        except BaseException as error:
            if not isinstance(error, CallsSpent):
                raise_own(error)
            return None  # the verdicts say what is wrong

    def find_nearest(self, records: Records) -> tuple[Nearest, ...]:
        """Return how far records are from the data."""
        rows = np.array(records, dtype=self._encoding.dtype)
        return tuple(self._real.nearest(row) for row in rows)


def _model_thresholds(domain: Domain, encoding: Encoding) -> tuple[Array, ...] | None:
    """Return where the trees of the domain's models begin to answer differently."""
    found: list[tuple[Array, ...]] = []
    for attribute in sorted({v.partition(".")[0] for v in domain.verifies.values()}):
        model = getattr(domain, attribute, None)
        try:
            structure = extract_structure(model, encoding.schema.width)
            if isinstance(structure, Trees):
                found.append(_tree_cuts(structure, encoding))
        except (NotProvable, ImportError):
            continue
    if not found:
        return None
    return tuple(np.unique(np.concatenate(own)) for own in zip(*found, strict=True))


def _tree_cuts(trees: Trees, encoding: Encoding) -> tuple[Array, ...]:
    from nomos.verify.question.space import whole

    keys = TreeKeys(trees, whole(encoding.schema), encoding.dtype)
    cuts = []
    for number, feature in enumerate(encoding.schema.features):
        low, high = encoding.low[number], encoding.high[number]
        places = keys.places(feature.name)
        if isinstance(feature, OneHot | Category):
            own = np.arange(low, high + 1) if places else np.array([low])
        elif isinstance(feature, Real):
            own = np.concatenate([np.empty(0), *(keys.thresholds[p] for p in places)])
        else:
            own = keys.starts(feature.name)
        own = own[(own > low) & (own <= high)].astype(np.float64)
        cuts.append(np.unique(np.append(low, own)))
    return tuple(cuts)

"""What a search is told of a program: its features, their ranges, the cuts of its trees."""

from __future__ import annotations

import numpy as np

from nomos.domain.domain import Domain
from nomos.domain.encoding import Array, Encoding
from nomos.domain.schema import Category, OneHot, Real
from nomos.engine.program import Program
from nomos.errors import NomosError
from nomos.search.margins import Margins
from nomos.search.scoring import Unscored
from nomos.search.strategy import Material
from nomos.shrinking.trying import uses_labels
from nomos.verify.question.space import whole
from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.read import read_structure
from nomos.verify.structure.trees import TreeKeys, Trees


def encoding_of(program: Program) -> Encoding:
    """Return how the rows of a program are changed; raises where they cannot be."""
    name = type(program.domain).__name__
    if program.schema is None or program.rows is None:
        raise NomosError(
            f"inputs can be made from those of {name} only if it has a schema: it says"
            " which values are allowed"
        )
    if uses_labels(program.spec):
        raise NomosError(
            f"{program.spec.name} asks for the label of an input, and an input that is"
            " made has none"
        )
    return Encoding(program.schema, program.source)


def margins_of(program: Program) -> tuple[Margins | None, str]:
    """Return what tells how near cases come; None and why, where nothing does."""
    try:
        return Margins(program), ""
    except Unscored as error:
        return None, str(error)


def material_of(
    program: Program, encoding: Encoding, unguided: str, with_cuts: bool
) -> Material:
    """Return what a search has to know."""
    inputs = len(program.spec.inputs)
    cuts = _cuts(program.domain, encoding) if with_cuts else None
    return Material(
        low=np.tile(encoding.low, inputs),
        high=np.tile(encoding.high, inputs),
        whole=np.tile(encoding.whole, inputs),
        data=encoding.data,
        inputs=inputs,
        cuts=None if cuts is None else cuts * inputs,
        unguided=unguided,
    )


def _cuts(domain: Domain, encoding: Encoding) -> tuple[Array, ...] | None:
    """Return where the trees of the domain's models begin to answer differently."""
    found: list[tuple[Array, ...]] = []
    for attribute in sorted(set(domain.verifies.values())):
        try:
            structure = read_structure(
                getattr(domain, attribute, None), encoding.schema.width
            )
            if isinstance(structure, Trees):
                found.append(_tree_cuts(structure, encoding))
        except (NotProvable, ImportError):
            continue
    if not found:
        return None
    return tuple(np.unique(np.concatenate(own)) for own in zip(*found, strict=True))


def _tree_cuts(trees: Trees, encoding: Encoding) -> tuple[Array, ...]:
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

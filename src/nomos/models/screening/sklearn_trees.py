"""Trees of scikit-learn from a file: does every node lead to a node of the same tree?

They are arrays and run no code, but native code follows their numbers unchecked: one
that leads out of its tree, or round in it, ends the process or hangs it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from nomos.device import Array

TREE = "sklearn.tree._tree.Tree"
HISTOGRAM_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
TREES = {TREE, HISTOGRAM_TREE}


def trees_are_sound(estimator: Any) -> bool:
    """Say whether no tree anywhere in an estimator leads out of itself or its rows."""
    return all(_is_sound(tree, width) for tree, width in _find_trees(estimator))


def _find_trees(estimator: Any) -> Iterator[tuple[Any, int]]:
    """Yield the trees that are part of an estimator, with how wide their rows are."""
    pending: list[tuple[Any, int]] = [(estimator, np.iinfo(np.int32).max)]
    seen: set[tuple[int, int]] = set()
    while pending:
        part, width = pending.pop()
        if (id(part), width) in seen:
            continue
        seen.add((id(part), width))
        if _full_name(part) in TREES:
            yield part, width
            continue
        inner = getattr(part, "__dict__", None)
        if isinstance(inner, dict):
            # An ensemble gives its rows to its members as they are.
            own = inner.get("n_features_in_")
            width = min(width, int(own)) if isinstance(own, int | np.integer) else width
        pending += [(child, width) for child in _list_parts(part, inner)]


def _list_parts(part: Any, inner: Any) -> list[Any]:
    if isinstance(part, np.ndarray):
        return list(part.flat) if part.dtype == object else []
    if isinstance(part, list | tuple):
        return list(part)
    if isinstance(part, dict):
        return list(part.values())
    return list(inner.values()) if isinstance(inner, dict) else []


def _full_name(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__qualname__}"


def _is_sound(tree: Any, width: int) -> bool:
    if _full_name(tree) == HISTOGRAM_TREE:
        nodes = tree.nodes
        forks = nodes["is_leaf"] == 0
        sets = nodes["bitset_idx"][forks & (nodes["is_categorical"] != 0)]
        bitsets = (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets)
        return (
            all((sets < len(known)).all() for known in bitsets)
            and _leads_on(nodes["left"], nodes["right"], forks)
            and bool((nodes["feature_idx"][forks] < width).all())
        )
    if not 0 < tree.node_count <= tree.capacity:
        return False
    left, right = tree.children_left, tree.children_right
    forks = left != -1
    features = tree.feature[forks]
    return (
        _leads_on(left, right, forks)
        and tree.n_features <= width
        and bool(((features >= 0) & (features < tree.n_features)).all())
    )


def _leads_on(left: Array, right: Array, forks: Array) -> bool:
    """Say whether each fork leads to later nodes of the tree, so that all ways end."""
    places = np.arange(len(left))[forks]
    return len(left) > 0 and all(
        bool(((side[forks] > places) & (side[forks] < len(left))).all())
        for side in (left, right)
    )

"""By how much a comparison that does not hold is missed."""

from __future__ import annotations

from nomos.lang import core

_PLAIN = core.Constant | core.Variable | core.GetFeature | core.Arithmetic | core.Negate


def sides(test: core.Expr) -> tuple[core.Expr, core.Expr] | None:
    """Return the side of a comparison that must be the smaller one, and the other.

    None where there is no such thing, or where working it out would call a function.
    """
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right  # where it fails, its premise holds
    if not isinstance(test, core.Compare):
        return None
    inner = [node for side in (test.left, test.right) for node in core.walk(side)]
    items = any(isinstance(n, core.Variable) and "[" in n.name for n in inner)
    if items or not all(isinstance(node, _PLAIN) for node in inner):
        return None
    if test.operator in ("<=", "<"):
        return test.left, test.right
    return (test.right, test.left) if test.operator in (">=", ">") else None

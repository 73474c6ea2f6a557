"""Mistakes in what a spec says: its names, types, definitions and its domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from nomos.diagnostics.diagnostic import Code, Diagnostic, Severity
from nomos.diagnostics.source import Span


def _nearest(name: str, known: Iterable[str]) -> str | None:
    matches = get_close_matches(name, sorted(known), n=1)
    return f"did you mean `{matches[0]}`?" if matches else None


def _listing(names: Sequence[str], limit: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def undeclared_name(
    at: Span,
    name: str,
    known: Iterable[str],
    *,
    later_line: int | None = None,
    help: str | None = None,
) -> Diagnostic:
    """Report a name that nothing declares, or only a later line."""
    notes: tuple[str, ...] = ()
    if later_line is not None:
        notes = (f"it is declared further down, on line {later_line}",)
        help = "move its declaration up"
    remedy = help or _nearest(name, known)
    return Diagnostic(
        code=Code.UNDECLARED_NAME,
        message=f"`{name}` is not declared",
        at=at,
        notes=notes,
        help=remedy or "declare it with `input`, `var` or `output`",
    )


def declared_twice(at: Span, name: str, line: int) -> Diagnostic:
    """Report a second declaration of a name."""
    return Diagnostic(
        code=Code.DECLARED_TWICE,
        message=f"`{name}` is declared twice",
        at=at,
        notes=(f"first declared on line {line}",),
        help="give one of them another name",
    )


def assigned_twice(at: Span, name: str, kind: str, verb: str = "assigns") -> Diagnostic:
    """Report a block that assigns an input or a var, or deletes it."""
    return Diagnostic(
        code=Code.ASSIGNED_TWICE,
        message=f"the block {verb} `{name}`, which has its value already as {kind}",
        at=at,
        help="inputs and vars are values; use another name in the block",
    )


def reserved_name(at: Span, name: str, reason: str) -> Diagnostic:
    """Report a declared name that is taken by the language or by Python."""
    return Diagnostic(
        code=Code.RESERVED_NAME,
        message=f"`{name}` cannot be declared: it is {reason}",
        at=at,
        help="choose another name",
    )


def output_before_block(at: Span, name: str) -> Diagnostic:
    """Report an output that is used where it has no value yet."""
    return Diagnostic(
        code=Code.OUTPUT_BEFORE_BLOCK,
        message=f"the output `{name}` has no value before the block has run",
        at=at,
        help="use it in `ensures`, or in a `var` after the block",
    )


def output_not_assigned(at: Span, name: str, sometimes: bool) -> Diagnostic:
    """Report an output without a value on some path through the block."""
    return Diagnostic(
        code=Code.OUTPUT_NOT_ASSIGNED,
        message=f"the block does not assign the output `{name}` on every path"
        if sometimes
        else f"the block never assigns the output `{name}`",
        at=at,
        help=f"assign it first, for example `{name} = 0` or `{name} = predict(x1)`",
    )


def unused_output(at: Span, name: str) -> Diagnostic:
    """Report an output that no `ensures` looks at."""
    return Diagnostic(
        code=Code.UNUSED_OUTPUT,
        severity=Severity.WARNING,
        message=f"the output `{name}` is never used after the block",
        at=at,
        help="mention it in an `ensures`, or make it a plain name of the block",
    )


def wrong_type(
    at: Span, what: str, wanted: str, got: str, help: str | None = None
) -> Diagnostic:
    """Report a value of a type that its place cannot take."""
    return Diagnostic(
        code=Code.WRONG_TYPE,
        message=f"{what} takes {wanted}, but this is {got}",
        at=at,
        help=help,
    )


def wrong_argument_count(at: Span, name: str, wanted: str, got: int) -> Diagnostic:
    """Report a call with too few or too many arguments."""
    return Diagnostic(
        code=Code.WRONG_ARGUMENT_COUNT,
        message=f"`{name}` takes {wanted}, but {got} {'is' if got == 1 else 'are'} given",
        at=at,
    )


def unknown_function(at: Span, name: str, known: Sequence[str]) -> Diagnostic:
    """Report a function that the domain does not have."""
    return Diagnostic(
        code=Code.UNKNOWN_FUNCTION,
        message=f"the domain has no function `{name}`",
        at=at,
        notes=(f"known functions: {_listing(known)}",),
        help=_nearest(name, known) or "add a method of that name to the domain",
    )


def unknown_feature(at: Span, name: str, known: Sequence[str]) -> Diagnostic:
    """Report a feature that the domain's schema does not have."""
    return Diagnostic(
        code=Code.UNKNOWN_FEATURE,
        message=f"the inputs have no feature `{name}`",
        at=at,
        notes=(f"known features: {_listing(known)}",),
        help=f"features are numbered from 0 to {len(known) - 1}"
        if name.lstrip("-").isdigit()
        else _nearest(name, known),
    )


def label_of_made_up_record(at: Span, shown: str) -> Diagnostic:
    """Report `label` of something that was not drawn from the source."""
    return Diagnostic(
        code=Code.LABEL_OF_MADE_UP_RECORD,
        message=f"`{shown}` is a made-up record and has no label",
        at=at,
        notes=("a label belongs to the item that an `input` drew",),
        help="ask for the label of the input itself: `label(x1)`",
    )


def no_labels(at: Span) -> Diagnostic:
    """Report `label` in a spec whose domain has no labels."""
    return Diagnostic(
        code=Code.NO_LABELS,
        message="the domain does not say what the labels of its inputs are",
        at=at,
        help="add a method `labels()` to it, with one label for each item of `inputs()`",
    )


def no_ensures(at: Span) -> Diagnostic:
    """Report a spec that demands nothing."""
    return Diagnostic(
        code=Code.NO_ENSURES,
        message="this spec has no `ensures`, so nothing can be violated",
        at=at,
        help="after the block, say what must hold: `ensures d1 <= d2;`",
    )


def ensures_without_output(at: Span) -> Diagnostic:
    """Report an `ensures` that the model cannot influence."""
    return Diagnostic(
        code=Code.ENSURES_WITHOUT_OUTPUT,
        severity=Severity.WARNING,
        message="this `ensures` mentions no output, so it cannot fail because of the model",
        at=at,
        help="mention an output, or make it a `requires`",
    )


def domain_unavailable(
    at: Span, name: str, reason: str, *, asked: bool = False
) -> Diagnostic:
    """Say that checks were skipped for want of the domain; `asked`: as the user wished."""
    if asked:
        return Diagnostic(
            code=Code.DOMAIN_UNAVAILABLE,
            severity=Severity.INFO,
            message=f"functions and features were not checked: {reason}",
            at=at,
        )
    put = f"put the domain in `{name}.py` beside the spec or in a folder above it"
    return Diagnostic(
        code=Code.DOMAIN_UNAVAILABLE,
        message=f"functions and features were not checked: {reason}",
        at=at,
        help=put if reason.startswith("there is no `") else None,
    )


def empty_range(at: Span, shown: str, low: object, high: object) -> Diagnostic:
    """Report a range that holds nothing: its ends are the wrong way round."""
    return Diagnostic(
        code=Code.EMPTY_RANGE,
        severity=Severity.WARNING,
        message=f"`{shown}` has no value: there is none from {low} to {high}",
        at=at,
        help=f"write the smaller end first: {high}, then {low}",
    )


def overrides_built_in(at: Span, name: str) -> Diagnostic:
    """Report a function of the domain that takes the place of a built-in one."""
    return Diagnostic(
        code=Code.OVERRIDES_BUILT_IN,
        severity=Severity.WARNING,
        message=f"`{name}` is the domain's own here, not the built-in function",
        at=at,
        help="give the domain's function another name",
    )


def invalid_param(at: Span, name: str, reason: str, help: str) -> Diagnostic:
    """Report a param whose value or limits cannot be."""
    return Diagnostic(
        code=Code.INVALID_PARAM,
        message=f"the param `{name}` {reason}",
        at=at,
        help=help,
    )


def invalid_definition(at: Span, name: str, reason: str, help: str) -> Diagnostic:
    """Report a definition that is no pure function of its parameters."""
    return Diagnostic(
        code=Code.INVALID_DEFINITION,
        message=f"the definition `{name}` {reason}",
        at=at,
        help=help,
    )


def invalid_library(at: Span, path: str, reason: str) -> Diagnostic:
    """Report a file that `use` names and that cannot be used."""
    return Diagnostic(
        code=Code.INVALID_LIBRARY,
        message=f"`{path}` cannot be used: {reason}",
        at=at,
        help="a file to `use` holds `param` and `def` only, and its path is seen from "
        "the spec's folder",
    )


def invalid_size(at: Span, name: str, shown: str) -> Diagnostic:
    """Report a list of inputs whose size is no number of items."""
    return Diagnostic(
        code=Code.INVALID_SIZE,
        message=f"`{name}` cannot have the size {shown}",
        at=at,
        help="give the number of items, at least 1 and at most 1000, or an integer param",
    )


def invalid_index(at: Span, index: int, size: int) -> Diagnostic:
    """Report the index of an item that a list does not have."""
    return Diagnostic(
        code=Code.INVALID_INDEX,
        message=f"the list has no item {index}: it has {size}",
        at=at,
        help=f"items are counted from 0 to {size - 1}",
    )

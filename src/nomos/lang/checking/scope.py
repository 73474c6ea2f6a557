"""The names of a spec while it is checked, and the diagnostics about them."""

import keyword
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any

from nomos.diagnostics import Code, Diagnostic, Source, Span
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.lang import core
from nomos.lang.reading import syntax
from nomos.lang.reading.kept import Kept, names_in
from nomos.lang.types import NEVER_MODELS, FeatureType, Offer, Type

_LITERALS = {  # by their names elsewhere
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
    **dict.fromkeys(("None", "NULL", "Null", "nil"), "null"),
    **dict.fromkeys(("nan", "NaN", "NA"), "missing(a)"),
    "in": "a in {b, c}",
    **dict.fromkeys(("L1", "l1"), "norm(v, 1)"),
    **dict.fromkeys(("L2", "l2"), "norm(v)"),
}
_MODULES = ("np", "numpy", "math", "pd", "torch")


class Role(Enum):
    """What a name stands for; the value is how messages and editors call it."""

    IMPORT = "an import"
    INPUT = "an input"
    VAR = "a var"
    OUTPUT = "an output"
    PARAM = "a param"
    DEFINITION = "a definition"
    PARAMETER = "a parameter of a definition"
    INDEX = "an index"
    PROPERTY = "the name of an `ensures`"
    FUNCTION = "a function"
    FEATURE = "a feature"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name.

    `drawn` names the input whose item this is, where it is one: only such a record has
    a label. `from_model` says that the value depends on an output.
    """

    kind: Role
    type: Type
    span: Span = field(compare=False)
    drawn: str | None = None
    from_model: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A `def` that can be used; `where` says where it stands, for notes.

    `depth` and `size` are those of its body with all definitions in it put in place. It
    can use the definitions whose number is smaller than its own. `text` is all of it.
    """

    number: int
    text: str
    node: syntax.Def = field(compare=False)
    where: str = field(compare=False)
    depth: int
    size: int


@dataclass(slots=True)
class Scope:
    """What is known about a spec at some point of its checking."""

    source: Source
    offer: Offer | None
    half_declared: frozenset[str]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    declared_later: dict[str, Span] = field(default_factory=dict)
    block_names: frozenset[str] = frozenset()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    block_done: bool = False
    params: dict[str, core.Param] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # of the lists of inputs
    # What the names that stand for a feature of levels can be.
    levels: dict[str, FeatureType | None] = field(default_factory=dict)
    kept: Kept | None = None  # what an editor knows from before
    remedies: dict[str, str | None] = field(default_factory=dict)  # by missing names
    # The facts in definitions
    uses: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    rates: list[core.Rate] | None = None  # of the `ensures`, while one is read
    order: tuple[str, ...] = ()  # of names that the block may have been answered
    # What indices and the parameters of a definition stand for, where they do.
    local: dict[str, core.Expr] = field(default_factory=dict)
    bound: frozenset[str] = frozenset()  # the names that these have in the core
    limit: float = inf  # the number that definitions in use must be below
    place: Span | None = None  # where a definition is used, while its body is read

    def report(self, code: Code, at: Span, **words: Any) -> None:
        """Keep a mistake at its place."""
        self.diagnostics.append(code.at(at, **words))

    def find_meaning(self, statement: Any, check: Callable[[], Any]) -> Any:
        """Return what `check` finds of a statement, or what is kept of it."""
        if self.kept is None:
            return check()

        def check_anew() -> tuple[Any, bool]:
            found = len(self.diagnostics)
            return check(), len(self.diagnostics) == found and self.rates is None

        return self.kept.find_meaning(statement, self._facts_of, check_anew)

    def _facts_of(self, names: Iterable[str]) -> tuple[Any, ...]:
        """Return all that a statement without mistakes can learn of its names."""
        return self.block_done, self.order, *map(self._facts_of_name, names)

    def _facts_of_name(self, name: str) -> tuple[Any, ...]:
        symbol = self.symbols.get(name)
        if symbol is None or symbol.kind is not Role.DEFINITION:
            item = self.symbols.get(core.item_name(name, 0))
            about = self.params.get(name), self.levels.get(name), self.sizes.get(name)
            return symbol, item, *about, name in self.half_declared
        own = self.definitions.get(name)
        if own is None:
            return (own,)
        if name not in self.uses:
            known = self.definitions
            inside = (
                used
                for used in names_in(own.node)
                if used not in known or known[used].number < own.number
            )
            self.uses[name] = own, *map(self._facts_of_name, inside)
        return self.uses[name]

    def report_twice(self, at: Span, name: str, first: Span) -> None:
        """Report a second declaration of a name."""
        line = self.source.line_at(first.start)
        self.report(Code.DECLARED_TWICE, at, name=name, line=line)

    def report_undeclared(
        self, at: Span, name: str, known: Iterable[str], help: str | None = None
    ) -> None:
        """Report a name that nothing declares; `known` are those that may be meant."""
        help = help or suggest_nearest(name, known)
        self.report(Code.UNDECLARED_NAME, at, name=name, help=help)

    def place_of(self, span: Span) -> Span:
        """Return the place of something: in a definition, that of its use."""
        return self.place or span

    @contextmanager
    def reporting_at(self, at: Span, note: str) -> Iterator[None]:
        """Report what is wrong in a definition or a library where it is used."""
        outer, place = self.diagnostics, self.place
        self.diagnostics, self.place = [], place or at
        try:
            yield
        finally:
            found, self.diagnostics, self.place = self.diagnostics, outer, place
            outer += [replace(d, at=at, notes=(*d.notes, note)) for d in found]

    @property
    def has_features(self) -> bool:
        """Whether inputs are records of a schema that is known."""
        return self.offer is not None and bool(self.offer.features)

    def fresh_name(self, name: str) -> str:
        """Return a name for something local that nothing else here has."""
        while name in self.symbols or name in self.bound:
            name += "_"
        return name

    def check_index(self, name: syntax.Name) -> None:
        """Report an index whose name has another meaning."""
        self._check_reserved(name, Role.VAR)
        known = self.symbols if self.place is None else {}
        other = known.get(name.name) or self.local.get(name.name)
        if other is not None:
            self.report_twice(name.span, name.name, other.span)

    def declare_name(self, name: syntax.Name, symbol: Symbol) -> None:
        """Add a name, reporting one that is taken."""
        self._check_reserved(name, symbol.kind)
        other = self.symbols.setdefault(name.name, symbol)
        if other is not symbol:
            first, second = sorted((other.span, name.span), key=lambda span: span.start)
            self.report_twice(second, name.name, first)

    def _check_reserved(self, name: syntax.Name, kind: Role) -> None:
        reason = self._why_reserved(name.name, kind)
        if reason is not None:
            self.report(Code.RESERVED_NAME, name.span, name=name.name, reason=reason)

    def _why_reserved(self, name: str, kind: Role) -> str | None:
        if name in NEVER_MODELS or name == "MAX_INT":
            return "built into the language"
        if name in syntax.KEYWORDS or name in _LITERALS.values():
            return "a word of the language"
        if keyword.iskeyword(name):
            return "a keyword of Python"
        if self.offer is not None and name in self.offer.functions:
            return None if kind is Role.IMPORT else "a function of the domain"
        return None

    def has_value(self, name: str) -> bool:
        """Tell whether a name means something, or may: its declaration cannot be read."""
        known = name in self.symbols or name in self.half_declared
        return known or name in self.local or name in ("MAX_INT", "inf", "missing")

    def look_up_value(self, name: syntax.Name) -> Symbol | None:
        """Look a name up where its value is needed, reporting one that has none."""
        symbol = self.symbols.get(name.name)
        if symbol is None or symbol.kind in (Role.IMPORT, Role.DEFINITION):
            if name.name not in self.half_declared:
                self._report_missing(name)
            return None
        if symbol.kind is Role.OUTPUT and not self.block_done:
            self.report(Code.OUTPUT_BEFORE_BLOCK, name.span, name=name.name)
        return symbol

    def _report_missing(self, name: syntax.Name) -> None:
        later = self.declared_later.get(name.name)
        if later is None:
            if name.name not in self.remedies:  # a thousand uses, one search
                known = ["MAX_INT", *self.value_names()]
                help = self._remedy_for_missing(name.name)
                self.remedies[name.name] = help or suggest_nearest(name.name, known)
            self.report_undeclared(name.span, name.name, (), self.remedies[name.name])
            return
        words = {"name": name.name, "help": "move its declaration up"}
        line = self.source.line_at(later.start)
        note = f"it is declared further down, on line {line}"
        self.report(Code.UNDECLARED_NAME, name.span, note=note, **words)

    def _remedy_for_missing(self, name: str) -> str | None:
        """Return what to do about a name without a value, where that is known."""
        if name in self.definitions:
            return f"it is a definition; call it: `{name}(...)`"
        if name in self.symbols:
            return f"it is imported; call its functions: `{name}.predict(x1)`"
        if name in _LITERALS:
            return f"write `{_LITERALS[name]}`"
        if name in _MODULES:
            return f"built-in functions and `inf` stand without `{name}.`"
        features = () if self.offer is None else self.offer.features or ()
        if any(name == feature.name for feature in features):
            return f"read a feature of a record: `x.{name}`"
        if any(name in (feature.levels or ()) for feature in features):
            return f'write a level in quotes: `"{name}"`'
        if name in self.block_names:
            return f"only the block knows it; make it an output: `output {name};`"
        return None

    def value_names(self) -> list[str]:
        """Return the names that have values."""
        return self.names_of_roles(Role.INPUT, Role.VAR, Role.OUTPUT, Role.PARAM)

    def names_of_roles(self, *kinds: Role) -> list[str]:
        """Return the declared names of some kinds."""
        return [
            name
            for name, symbol in self.symbols.items()
            if symbol.kind in kinds and not name.endswith("]")
        ]

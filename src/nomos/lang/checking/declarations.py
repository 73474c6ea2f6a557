"""Declare what `param`, `def` and `use` bring to a spec."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from nomos.diagnostics import Code, Diagnostic, Source
from nomos.lang import core
from nomos.lang.checking.dates import read_date
from nomos.lang.checking.expressions import elaborate_expr
from nomos.lang.checking.scope import Definition, Role, Scope, Symbol
from nomos.lang.nodes import PlacedNode, children, walk
from nomos.lang.reading import syntax
from nomos.lang.reading.parse import parse_library
from nomos.lang.reading.tree import DEEPEST_NESTING, depth_of
from nomos.lang.types import NUMBERS, Type
from nomos.lang.writing.format import format_expr

Value = int | float | str | bool
Library = Source | str  # a file to `use`, or why it cannot be read
TYPES = {
    "int": Type.INT, "real": Type.REAL, "bool": Type.BOOL, "string": Type.STRING,
    "date": Type.DATE,
}  # fmt: skip
_LARGEST = 5000  # nodes of a definition, with all that it uses
_LONGEST_SHOWN = 60  # characters of a definition that a note repeats
_DRAWS = ("randInt", "randReal")


class Shared:
    """The params and definitions of a spec while they are declared."""

    def __init__(
        self,
        scope: Scope,
        tree: syntax.Spec,
        libraries: Mapping[str, Library],
        values: Mapping[str, Value],
    ) -> None:
        self.scope = scope
        self.libraries = libraries
        self.values = values  # that take the place of what the params say
        variables = (*tree.variables, *tree.later_variables)
        declared = (*tree.inputs, *variables, *tree.outputs)
        self.outside = {declaration.name.name for declaration in declared}
        self.source = scope.source  # that the statements under way stand in
        self.use: syntax.Use | None = None  # through which they came
        self.ahead: set[str] = set()  # the definitions that stand further down

    def declare_all(self, statements: tuple[syntax.Shared, ...]) -> None:
        """Declare all of it, in order."""
        self._note_ahead(statements)
        for statement in statements:
            match statement:
                case syntax.Use():
                    self._declare_library(statement)
                case syntax.Param():
                    self._declare_param(statement)
                case syntax.Def():
                    self._declare_definition(statement)

    def _note_ahead(self, statements: Iterable[syntax.Shared]) -> None:
        self.ahead |= {s.name.name for s in statements if isinstance(s, syntax.Def)}

    def _declare_library(self, use: syntax.Use) -> None:
        path, at = use.path.value, use.path.span
        library = self.libraries.get(path, "files cannot be read here")
        if isinstance(library, str):
            self.scope.report(Code.INVALID_LIBRARY, at, path=path, reason=library)
            return
        statements = parse_library(library)
        if isinstance(statements, Diagnostic):
            line = library.line_at(statements.at.start)
            reason = f"line {line}: {statements.message}"
            self.scope.report(Code.INVALID_LIBRARY, at, path=path, reason=reason)
            return
        outer, self.source, self.use = self.source, library, use
        self._note_ahead(statements)
        for statement in statements:
            line = library.line_at(statement.span.start)
            with self.scope.reporting_at(at, f"in {path}, line {line}"):
                self.declare_all((statement,))
        self.source, self.use = outer, None

    def _name_in_spec(self, name: syntax.Name) -> syntax.Name:
        """Return a name at its place in the spec: that of the `use` that brings it."""
        return name if self.use is None else replace(name, span=self.use.path.span)

    def _declare_param(self, node: syntax.Param) -> None:
        param = self._build_param(node)
        name = self._name_in_spec(node.name)
        self.scope.declare_name(name, Symbol(Role.PARAM, param.type, name.span))
        given = self.values.get(param.name, param.value)
        self.scope.params[param.name] = replace(param, value=given)

    def _build_param(self, node: syntax.Param) -> core.Param:
        """Return a param as the spec declares it, reporting what cannot be."""
        value, type_ = self._require_constant(node, node.value)
        if node.type is not None:
            wanted = TYPES.get(node.type.name)
            if wanted is None:
                help = f"the types are {', '.join(TYPES)}"
                self._report_declaration(
                    node, node.type, f"has no type `{node.type.name}`", help
                )
            elif not is_of_type(value, wanted):
                help = f"give {wanted.value}, or change its type"
                said = f"is no {node.type.name}"
                self._report_declaration(node, node.value, said, help)
            else:
                value, type_ = (float(value) if wanted is Type.REAL else value), wanted
        param = self._add_limits(node, core.Param(node.name.name, type_, value))
        if not is_within_limits(param, value):
            help = "change its value, or what it may be"
            self._report_declaration(node, node.value, f"may not be {value!r}", help)
        return param

    def _add_limits(self, node: syntax.Param, param: core.Param) -> core.Param:
        allowed = node.allowed
        if allowed is None:
            return param
        parts = children(allowed)
        values: list[Any] = [self._require_constant(node, part)[0] for part in parts]
        kind = Type.REAL if param.type in NUMBERS else param.type
        if not all(is_of_type(value, kind) for value in values):
            help = f"its type is {param.type.value}"
            self._report_declaration(node, allowed, "has limits of another type", help)
            return param
        if isinstance(allowed, syntax.OneOf):
            return replace(param, one_of=tuple(values))
        if param.type not in NUMBERS | {Type.DATE}:
            help = f"list what it may be: `in {{{param.value!r}}}`"
            said = "has a range, but is no number"
            self._report_declaration(node, allowed, said, help)
            return param
        low, high = values
        return replace(param, low=low, high=high)

    def _require_constant(
        self, node: syntax.Param, expr: syntax.Expr
    ) -> tuple[Value, Type]:
        value = elaborate_expr(self.scope, expr)
        if node.type is not None and node.type.name == "date":
            value = read_date(value)
        if isinstance(value, core.Constant) and value.value is not None:
            return value.value, value.type
        help = "give a number, a string or a truth value"
        self._report_declaration(node, expr, "has no constant value", help)
        return 0, Type.UNKNOWN

    def _declare_definition(self, node: syntax.Def) -> None:
        name = self._name_in_spec(node.name)
        self.ahead.discard(name.name)
        found = len(self.scope.diagnostics)
        self.scope.declare_name(name, Symbol(Role.DEFINITION, Type.UNKNOWN, name.span))
        self._check_parameters(node)
        self._check_definition_names(node)
        depth, size = self._measure_definition(node)
        if len(self.scope.diagnostics) == found:
            line = self.source.line_at(node.span.start)
            place = "" if self.use is None else f"{self.use.path.value}, "
            body = format_expr(node.body)
            shown = body if len(body) <= _LONGEST_SHOWN else f"{body[:57]}..."
            where = f"`{node.name.name}` is `{shown}` ({place}line {line})"
            number = len(self.scope.definitions)
            text = f"{[p.name for p in node.parameters]} {body}"
            definition = Definition(number, text, node, where, depth, size)
            self.scope.definitions[node.name.name] = definition

    def _check_parameters(self, node: syntax.Def) -> None:
        for place, parameter in enumerate(node.parameters):
            if parameter.name in (other.name for other in node.parameters[:place]):
                line = self.source.line_at(parameter.span.start)
                words = {"name": parameter.name, "line": line}
                self.scope.report(Code.DECLARED_TWICE, parameter.span, **words)

    def _check_definition_names(self, node: syntax.Def) -> None:
        """Report what is no parameter, no param and no earlier definition."""
        nodes = list(walk(node.body))
        bound = [*node.parameters]
        for inner in nodes:
            bound += getattr(inner, "indices", ())
            bound += [inner.item] if isinstance(inner, syntax.Comprehension) else []
        own = {name.name for name in bound} | {"MAX_INT", "inf"}
        for inner in nodes:
            if isinstance(inner, syntax.Name) and inner.name not in own:
                self._check_free(node, inner)
            if isinstance(inner, syntax.Call):
                self._check_definition_call(node, inner.function)

    def _check_free(self, node: syntax.Def, name: syntax.Name) -> None:
        if name.name in self.scope.params:
            return
        if name.name in self.outside:
            reason = f"mentions `{name.name}`, which is none of its parameters"
            help = "make it a parameter, and hand it over where the definition is used"
            self._report_declaration(node, name, reason, help)
            return
        known = [*(p.name for p in node.parameters), *self.scope.params]
        self.scope.report_undeclared(name.span, name.name, known)

    def _report_declaration(
        self, node: syntax.Param | syntax.Def, at: PlacedNode, reason: str, help: str
    ) -> None:
        is_param = isinstance(node, syntax.Param)
        code = Code.INVALID_PARAM if is_param else Code.INVALID_DEFINITION
        words = {"name": node.name.name, "reason": reason, "help": help}
        self.scope.report(code, at.span, **words)

    def _check_definition_call(self, node: syntax.Def, function: syntax.Name) -> None:
        offer, name, own = self.scope.offer, function.name, node.name.name
        known = None if offer is None else offer.functions.get(name)
        if name == own:
            reason, help = "uses itself", "definitions do not repeat; use Python for it"
        elif name in self.ahead and name not in self.scope.definitions:
            reason, help = f"uses `{name}`, which stands further down", "move it down"
        elif known.draws if known is not None else name in _DRAWS:
            reason = f"draws, with `{name}`"
            help = "draw in a `var`, and hand that to the definition"
        else:
            return
        self._report_declaration(node, function, reason, help)

    def _measure_definition(self, node: syntax.Def) -> tuple[int, int]:
        """Return how deep and how large a definition is, reporting too much."""
        nodes = list(walk(node.body))
        inner = [
            self.scope.definitions[n.function.name]
            for n in nodes
            if isinstance(n, syntax.Call) and n.function.name in self.scope.definitions
        ]
        depth = depth_of(node.body) + max((d.depth for d in inner), default=0)
        size = len(nodes) + sum(definition.size for definition in inner)
        if depth > DEEPEST_NESTING or size > _LARGEST:
            at = node.name.span
            self.scope.report(Code.NESTED_TOO_DEEPLY, at, limit=DEEPEST_NESTING)
        return depth, size


def is_of_type(value: Value, type_: Type) -> bool:
    """Tell whether a constant is of a type; an integer is a real number, too."""
    match type_:
        case Type.INT:
            return type(value) is int
        case Type.REAL:
            return type(value) in (int, float)
        case Type.BOOL:
            return isinstance(value, bool)
        case Type.DATE:
            return type(value) in (int, float)
        case Type.STRING:
            return isinstance(value, str)
        case _:
            return True


def is_within_limits(param: core.Param, value: Value) -> bool:
    """Tell whether a param may have a value of its type."""
    if param.one_of:
        return value in param.one_of
    if param.low is None or param.high is None:
        return True
    assert isinstance(value, int | float)
    return param.low <= value <= param.high

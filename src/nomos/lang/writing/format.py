"""From a spec to its one canonical layout.

What may be moved: white space, parentheses that change nothing, comments inside a
statement, and the indentation of the Python block. What is said stays as it is.
"""

from typing import assert_never

from nomos.diagnostics import Code, Source, Span
from nomos.diagnostics.render import render_all
from nomos.errors import SpecError
from nomos.lang.nodes import tree_shape
from nomos.lang.python.block import PythonCode
from nomos.lang.reading import syntax
from nomos.lang.reading.parse import parse_spec
from nomos.lang.reading.tree import CHAINS, operands_of, operator_chain
from nomos.lang.writing.layout import Doc, Group, Line, Nest, lay_out
from nomos.lang.writing.python import dump_statements, format_block

# How tightly each form binds, as in the grammar.
_PRECEDENCE = {"==>": 1, "||": 2, "&&": 3}
_PRECEDENCE |= dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 5)
_PRECEDENCE |= {"+": 6, "-": 6, "*": 7, "/": 7, "%": 7, "**": 9}
_WHOLE, _IMPLIES, _NOT, _COMPARE, _SUM, _SIGN, _POSTFIX = 0, 1, 4, 5, 6, 8, 10


def format_spec(source: Source) -> str:
    """Return a spec in its canonical layout; one that cannot be read is a SpecError."""
    parsed = parse_spec(source)
    if parsed.diagnostics:
        drawn = render_all(parsed.diagnostics, source)
        raise SpecError(source, parsed.diagnostics, drawn)
    spec, block = parsed.spec, ""
    before: list[str] | None = None
    if spec.block is not None:  # else it is a file of params and definitions
        python = PythonCode(source, spec.block)
        broken = [d for d in python.diagnostics if d.code is Code.PYTHON_SYNTAX]
        if broken:
            raise SpecError(source, broken, render_all(broken, source))
        before = dump_statements(python.statements)
        block = format_block(source, spec.block, python)
    text = _Writer(source, spec).write_spec(block)
    made = Source(source.name, text)
    again = parse_spec(made).spec
    after: list[str] | None = None
    if again.block is not None:
        after = dump_statements(PythonCode(made, again.block).statements)
    same = _meaning_of(again) == _meaning_of(spec) and after == before
    assert same, "formatting must not change a spec"
    return text


def format_expr(expr: syntax.Expr) -> str:
    """Return an expression on one line."""
    return lay_out(_expr_doc(expr), width=float("inf"))


def _meaning_of(spec: syntax.Spec) -> tuple[object, ...]:
    """Return what must stay the same beside the block's code."""
    others = [
        node
        for node in syntax.statements_of(spec)
        if not isinstance(node, syntax.Block)
    ]
    return [tree_shape(node) for node in others], spec.description


def _precedence_of(expr: syntax.Expr) -> int:
    match expr:
        case syntax.Binary(operator=operator):
            return _PRECEDENCE[operator]
        case syntax.Unary(operator=operator):
            return _NOT if operator == "!" else _SIGN
        case syntax.Membership():
            return _COMPARE
        case syntax.Conditional() | syntax.Quantifier() | syntax.Named():
            return _WHOLE
        case syntax.Given():
            return _WHOLE
        case syntax.Number() | syntax.String() | syntax.Constant() | syntax.Name():
            return _POSTFIX
        case syntax.Call() | syntax.Feature() | syntax.Update() | syntax.Index():
            return _POSTFIX
        case syntax.Comprehension():
            return _POSTFIX
        case _:
            assert_never(expr)


def _operand_doc(expr: syntax.Expr, least: int) -> Doc:
    """Return an operand, in parentheses where it binds less than it has to."""
    doc = _expr_doc(expr)
    return doc if _precedence_of(expr) >= least else _brackets_doc("(", doc, ")")


def _part_doc(expr: syntax.Expr, least: int, *, is_last: bool = True) -> Doc:
    """Return an operand of logic: what goes as far as it can stands bare at its end."""
    if is_last and least <= _NOT and _precedence_of(expr) == _WHOLE:
        return _expr_doc(expr)
    if not is_last and _is_open(expr):
        return _brackets_doc("(", _expr_doc(expr), ")")
    return _operand_doc(expr, least)


def _is_open(expr: syntax.Expr) -> bool:
    """Tell whether an expression ends in one that would go on with what follows."""
    while True:
        match expr:
            case syntax.Unary(operator="!", operand=inner):
                expr = inner
            case syntax.Binary(operator="&&" | "||" | "==>", right=inner):
                expr = inner
            case _:
                return isinstance(expr, syntax.Conditional | syntax.Quantifier)


def _brackets_doc(opening: str, inside: Doc, closing: str) -> Doc:
    return Group((opening, Nest((Line(""), inside)), Line(""), closing))


def _expr_doc(expr: syntax.Expr) -> Doc:
    match expr:
        case syntax.Number(value=value, text=text):
            return text or repr(value)
        case syntax.String():
            return _string_text(expr)
        case syntax.Constant(value=truth):
            return "null" if truth is None else str(truth).lower()
        case syntax.Given(event=event, condition=condition):
            given = Line(" "), _expr_doc(condition)
            return Group((_expr_doc(event), " |", Nest(given)))
        case syntax.Name(name=name):
            return name
        case syntax.Call():
            return _call_doc(expr)
        case syntax.Named(name=name, value=value):
            return (f"{name.name} := ", _expr_doc(value))
        case syntax.Feature(subject=subject, feature=feature):
            return (_subject_doc(subject), ".", feature.name)
        case syntax.Update():
            return _updates_doc(expr)
        case syntax.Unary(operator="!", operand=operand):
            # Elsewhere `!` binds tightest: `!a == b` would be read as `(!a) == b`.
            operation = isinstance(operand, syntax.Binary | syntax.Membership)
            return ("!", _part_doc(operand, _SIGN if operation else _NOT))
        case syntax.Unary(operator=operator, operand=operand):
            return (operator, _operand_doc(operand, _SIGN))
        case syntax.Binary(operator="**", left=left, right=right):
            return (_operand_doc(left, _POSTFIX), " ** ", _operand_doc(right, _SIGN))
        case syntax.Binary():
            return _operation_doc(expr)
        case syntax.Membership(subject=subject, allowed=allowed):
            items: Doc = (
                _limits_doc(allowed)
                if isinstance(allowed, syntax.OneOf | syntax.Between)
                else _operand_doc(allowed, _SUM)
            )
            return Group((_operand_doc(subject, _SUM), " in ", items))
        case syntax.Conditional():
            return _conditional_doc(expr)
        case syntax.Index(subject=subject, index=index):
            return (_subject_doc(subject), "[", _expr_doc(index), "]")
        case syntax.Comprehension(value=value, item=item, over=over):
            inside = (_expr_doc(value), Line(" "), f"for {item.name} in ")
            return _brackets_doc("[", (*inside, _operand_doc(over, _POSTFIX)), "]")
        case syntax.Quantifier():
            return _quantifier_doc(expr)
        case _:
            assert_never(expr)


def _quantifier_doc(expr: syntax.Quantifier) -> Doc:
    between = " < " if expr.is_ordered else ", "
    names = between.join(index.name for index in expr.indices)
    head: Doc = (f"{expr.word} {names} in ", _operand_doc(expr.over, _POSTFIX))
    if expr.condition is not None:
        head = (head, " if ", _expr_doc(expr.condition))
    return Group((head, ":", Nest((Line(" "), _expr_doc(expr.body)))))


def _limits_doc(allowed: syntax.OneOf | syntax.Between) -> Doc:
    if isinstance(allowed, syntax.Between):
        return (_operand_doc(allowed.low, _SUM), "..", _operand_doc(allowed.high, _SUM))
    return _brackets_doc("{", _list_doc(allowed.items), "}")


def _conditional_doc(expr: syntax.Conditional) -> Doc:
    """Return `if ... then ... else if ...`, each branch on its line or all on one."""
    head: Doc = ("if ", _operand_doc(expr.test, _IMPLIES))
    lines: list[Doc] = []
    rest: syntax.Expr = expr
    while isinstance(rest, syntax.Conditional):
        lines.append((Line(" "), "then ", _operand_doc(rest.yes, _IMPLIES)))
        rest = rest.no
        if isinstance(rest, syntax.Conditional):
            lines.append((Line(" "), "else if ", _operand_doc(rest.test, _IMPLIES)))
    lines.append((Line(" "), "else ", _expr_doc(rest)))
    return Group((head, Nest(tuple(lines))))


def _list_doc(items: tuple[syntax.Expr, ...]) -> Doc:
    first, *others = items
    return (_expr_doc(first), *((",", Line(" "), _expr_doc(other)) for other in others))


def _string_text(string: syntax.String) -> str:
    """Return a string in double quotes, as far as that needs no other escapes."""
    text = string.text
    if not text:
        escaped = string.value.encode("unicode_escape").decode("ascii")
        return '"' + escaped.replace('"', '\\"') + '"'
    if text[0] == "'" and '"' not in text and "\\" not in text:
        return f'"{text[1:-1]}"'
    return text


def _call_doc(call: syntax.Call) -> Doc:
    name = call.function.name
    if call.qualifier is not None:
        name = f"{call.qualifier.name}.{name}"
    if not call.arguments:
        return f"{name}()"
    return _brackets_doc(f"{name}(", _list_doc(call.arguments), ")")


def _subject_doc(expr: syntax.Expr) -> Doc:
    """Return what a feature is taken of; `1.x` would look like a decimal."""
    if isinstance(expr, syntax.Number):
        return _brackets_doc("(", _expr_doc(expr), ")")
    return _operand_doc(expr, _POSTFIX)


def _updates_doc(expr: syntax.Update) -> Doc:
    """Return a record and the updates behind it, side by side or one below the other."""
    updates: list[Doc] = []
    subject: syntax.Expr = expr
    while isinstance(subject, syntax.Update):
        updates.append((f"[{subject.feature.name} := ", _expr_doc(subject.value), "]"))
        subject = subject.subject
    lines: list[Doc] = [(Line(""), update) for update in reversed(updates)]
    return Group((_subject_doc(subject), Nest(tuple(lines))))


def _operation_doc(expr: syntax.Binary) -> Doc:
    """Return a chain of operators that bind alike, the operators leading the lines."""
    level = _PRECEDENCE[expr.operator]
    if level == _IMPLIES:
        first, *rest = operands_of(expr)
        others = [("==>", operand) for operand in rest]
    else:
        # Comparisons do not chain
        nodes = operator_chain(expr, CHAINS.get(expr.operator, ()))
        first = nodes[-1].left
        others = [(node.operator, node.right) for node in reversed(nodes)]
    head = _part_doc(first, level + 1, is_last=False)
    # Lines of a first operand that is a chain itself stand further in than ours.
    head = Nest(head) if isinstance(first, syntax.Binary) else head
    last = others[-1][1]
    lines = [
        (Line(" "), f"{sign} ", _part_doc(o, level + 1, is_last=o is last))
        for sign, o in others
    ]
    return Group((head, Nest(tuple(lines))))


def statement_text(statement: syntax.Statement, block: str = "") -> str:
    """Return a statement in its canonical layout."""
    match statement:
        case syntax.Import(name=name):
            return f"import {name.name};"
        case syntax.Use(path=path):
            return f"use {_string_text(path)};"
        case syntax.Param():
            return lay_out(_param_doc(statement))
        case syntax.Def(name=name, parameters=parameters, body=body):
            names = ", ".join(parameter.name for parameter in parameters)
            return lay_out((f"def {name.name}({names}) := ", _expr_doc(body), ";"))
        case syntax.Input(name=name, size=size):
            items: Doc = "" if size is None else ("[", _expr_doc(size), "]")
            return lay_out((f"input {name.name}", items, ";"))
        case syntax.Allow(name=name):
            return f"allow {name.name};"
        case syntax.Repeats(times=times):
            return lay_out(("repeats ", _expr_doc(times), ";"))
        case syntax.Pair():
            names = ", ".join(name.name for name in statement.related)
            if statement.excepted:
                names += f", except {', '.join(n.name for n in statement.excepted)}"
            drawn = f"{statement.name.name}, {statement.second.name}"
            return f"input {drawn} where {statement.relation.name}({names});"
        case syntax.Output(name=name):
            return f"output {name.name};"
        case syntax.Var(name=name, value=value):
            return lay_out((f"var {name.name} := ", _expr_doc(value), ";"))
        case syntax.Requires(condition=condition):
            return lay_out(("requires ", _expr_doc(condition), ";"))
        case syntax.Ensures(condition=condition, name=given):
            label = "" if given is None else f"{given.name}: "
            return lay_out((f"ensures {label}", _expr_doc(condition), ";"))
        case syntax.Block():
            return block
        case _:
            assert_never(statement)


def _param_doc(param: syntax.Param) -> Doc:
    kind = "" if param.type is None else f": {param.type.name}"
    limits: Doc = "" if param.allowed is None else (" in ", _limits_doc(param.allowed))
    value = _operand_doc(param.value, _SUM)
    return (f"param {param.name.name}{kind} := ", value, limits, ";")


def _strip_comment(comment: syntax.Comment) -> str:
    """Return a comment without the blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in comment.text.split("\n"))


class _Writer:
    """Writes the statements of a spec with the comments that belong to them."""

    def __init__(self, source: Source, spec: syntax.Spec) -> None:
        self.text = source.text
        self.statements = sorted(
            syntax.statements_of(spec), key=lambda statement: statement.span.start
        )
        self.comments = list(spec.comments)[::-1]  # the next one is the last
        self.lines: list[str] = []
        self.end = 0  # up to where the source is written

    def write_spec(self, block: str) -> str:
        for statement in self.statements:
            for comment in self._comments_before(statement.span.start):
                self._write_lines(_strip_comment(comment), comment.span)
            first = statement is self.statements[0]
            text = statement_text(statement, block)
            self._write_statement(text, statement.span, first)
        for comment in self._comments_before(len(self.text)):
            self._write_lines(_strip_comment(comment), comment.span)
        return "\n".join(self.lines) + "\n"

    def _comments_before(self, offset: int) -> list[syntax.Comment]:
        found = []
        while self.comments and self.comments[-1].span.start < offset:
            found.append(self.comments.pop())
        return found

    def _write_lines(self, text: str, span: Span) -> None:
        if self.lines and self.text.count("\n", self.end, span.start) > 1:
            self.lines.append("")
        self.lines += text.split("\n")
        self.end = max(self.end, span.end)

    def _write_statement(self, text: str, span: Span, first: bool) -> None:
        inner = self._comments_before(span.end)
        # Above the first statement they would become part of the description.
        above, below = ([], inner) if first else (inner, [])
        for comment in above:
            self._write_lines(_strip_comment(comment), Span(span.start, span.start))
        self._write_lines(text, span)
        while self._next_comment_is_on_the_line():
            trailing = self.comments.pop()
            self.lines[-1] += "  " + trailing.text.rstrip()
            self.end = trailing.span.end
        for comment in below:
            self.lines += _strip_comment(comment).split("\n")

    def _next_comment_is_on_the_line(self) -> bool:
        if not self.comments:
            return False
        return not self.text[self.end : self.comments[-1].span.start].strip(" \t\f")

"""Programs that differ from one in a single place, and how one is put in its place."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

_TURNED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Return what may stand in place of a node."""
    match node:
        case ast.Compare(ops=[one]) if type(one) in _TURNED:
            yield ast.Compare(node.left, [_TURNED[type(one)]()], node.comparators)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.BoolOp(op=ast.And()):
            yield ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            yield ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp(op=ast.Add()):
            yield ast.BinOp(node.left, ast.Sub(), node.right)
        case ast.BinOp(op=ast.Sub()):
            yield ast.BinOp(node.left, ast.Add(), node.right)
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Call(func=ast.Name("min" | "max" as name)):
            other = ast.Name("max" if name == "min" else "min", ast.Load())
            yield ast.Call(other, node.args, node.keywords)
        case ast.If() | ast.IfExp() if isinstance(node.test, ast.Name | ast.Attribute):
            turned = copy.copy(node)
            turned.test = ast.UnaryOp(ast.Not(), node.test)
            yield turned


def _meant(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return the parts of a node that decide something, not types, texts or tuning."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for part in value if isinstance(value, list) else [value]:
            match part:
                case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
                    continue
                case ast.If(test=ast.Name("TYPE_CHECKING")):
                    continue
                case ast.Assign() | ast.AnnAssign() if isinstance(node, ast.Module):
                    continue
                case ast.AST():
                    yield name, part


def _numbered(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return all nodes that may change, each with the function it is in."""
    todo = [("", tree)]
    while todo:
        where, node = todo.pop()
        yield where, node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            where = f"{where}.{node.name}".lstrip(".")
        todo += [(where, part) for _, part in _meant(node)]


class _Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


class Mutant(NamedTuple):
    """A changed program: what was changed, on which line, and its tree."""

    told: str
    line: int
    tree: ast.Module


def mutants(name: str, text: str) -> Iterator[Mutant]:
    """Return each changed program of a file below `nomos`."""
    lines, met = text.splitlines(), Counter[str]()
    for number, (where, node) in enumerate(_numbered(ast.parse(text))):
        for place, new in enumerate(changes(node)):
            tree = ast.parse(text)
            _, old = list(_numbered(tree))[number]
            fresh = ast.copy_location(list(changes(old))[place], old)
            was, now = (" ".join(ast.unparse(n).split()) for n in (node, new))
            if isinstance(node, ast.If):
                was, now = (f"if {ast.unparse(n.test)}" for n in (node, new))  # type: ignore[attr-defined]
            changed = ast.fix_missing_locations(_Replace(old, fresh).visit(tree))
            line = ""
            if isinstance(node, ast.Constant):  # there may be many of them
                line = f" in `{lines[node.lineno - 1].strip()}`"
            told = f"{name} {where}: `{was}` becomes `{now}`{line}"
            met[told] += 1
            if met[told] > 1:
                told = told.replace("becomes", f"({met[told]}) becomes", 1)
            yield Mutant(told, node.lineno, changed)  # type: ignore[attr-defined]


def _functions(namespace: dict[str, Any], path: str) -> Iterator[FunctionType]:
    """Return all functions of a program that can be found by their names."""
    todo, seen = [*namespace.values()], set()
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            if thing.__code__.co_filename in (path, "<string>"):  # of a dataclass
                yield thing
            todo += [getattr(thing, "__wrapped__", None)]
        elif isinstance(thing, type) and thing.__module__ == namespace["__name__"]:
            todo += vars(thing).values()
        else:
            names = ("__func__", "fget", "callback")
            todo += [part for name in names if (part := getattr(thing, name, None))]


def module_of(name: str) -> ModuleType:
    """Return the module of a file below `nomos`, loaded if it was not."""
    name = name.removesuffix(".py").removesuffix("/__init__")
    return import_module("nomos." + name.replace("/", "."))


def put_in_place(name: str, tree: ast.Module) -> None:
    """Let the functions of a module that is loaded do what a changed program does."""
    module = module_of(name)
    path = str(module.__file__)
    fresh: dict[str, Any] = {"__name__": module.__name__, "__file__": path}
    exec(compile(tree, path, "exec"), fresh)
    new = {
        (function.__qualname__, function.__code__.co_firstlineno): function
        for function in _functions(fresh, path)
    }
    for function in _functions(vars(module), path):
        mutated = new[function.__qualname__, function.__code__.co_firstlineno]
        function.__code__ = mutated.__code__
        function.__defaults__ = mutated.__defaults__
        function.__kwdefaults__ = mutated.__kwdefaults__
    for name, thing in vars(module).items():
        if isinstance(thing, type) and isinstance(fresh.get(name), type):
            _put_values(thing, fresh[name])


def _put_values(old: type, new: type) -> None:
    """Give a class the numbers of another; members of an enumeration stay."""
    for name, value in vars(new).items():
        if type(value) in (bool, int) and not name.startswith("__"):
            setattr(old, name, value)

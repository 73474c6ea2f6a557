"""The names of the Python block: which it binds, and which it takes from outside."""

import ast
from collections.abc import Iterable, Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def walk_own_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that run in the block itself, not in functions defined there."""
    todo = list(nodes)[::-1]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(_nodes_in_scope(node)))


def _nodes_in_scope(node: ast.AST) -> list[ast.AST]:
    """Return the nodes below this one that belong to the same scope."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return _outside_function(node)
        case ast.ClassDef(decorator_list=decorators, bases=bases, keywords=keywords):
            return [*decorators, *bases, *keywords]
        case ast.comprehension(iter=iterable, ifs=conditions):
            return [iterable, *conditions]  # its target is a name of its own
        case _:
            return list(ast.iter_child_nodes(node))


def _outside_function(function: _Function) -> list[ast.AST]:
    """Return what of a function is evaluated where it is defined."""
    arguments = function.args
    defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
    if isinstance(function, ast.Lambda):
        return [*defaults]
    annotations = [p.annotation for p in _parameter_nodes(arguments) if p.annotation]
    returns = [function.returns] if function.returns else []
    return [*function.decorator_list, *defaults, *annotations, *returns]


def _parameter_nodes(arguments: ast.arguments) -> list[ast.arg]:
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*plain, *(a for a in (arguments.vararg, arguments.kwarg) if a)]


def find_bindings(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name that these nodes bind in their own scope, with the node that does."""
    for node in walk_own_scope(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name, node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0], node
            case ast.ExceptHandler(name=str(name)):
                yield name, node
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node
            case ast.MatchMapping(rest=str(name)):
                yield name, node
            case _:
                pass


def names_bound_by(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that these nodes bind in their own scope."""
    return frozenset(name for name, _ in find_bindings(nodes))


def names_from_outside(statements: list[ast.stmt]) -> Iterator[ast.Name]:
    """Yield the uses of names that neither the block nor a function in it binds."""
    return _free_names(statements, names_bound_by(statements))


def _free_names(nodes: Iterable[ast.AST], bound: frozenset[str]) -> Iterator[ast.Name]:
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name not in bound:
                    yield node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _free_in_function(node, bound)
            case ast.ClassDef(body=body):
                inside = bound | _type_parameters(node)
                yield from _free_names(_nodes_in_scope(node), inside)
                yield from _free_names(body, inside | names_bound_by(body))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                yield from _free_in_comprehension(node, bound)
            case _:
                yield from _free_names(ast.iter_child_nodes(node), bound)


def _free_in_function(function: _Function, bound: frozenset[str]) -> Iterator[ast.Name]:
    bound |= _type_parameters(function)
    yield from _free_names(_outside_function(function), bound)
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    inside = {parameter.arg for parameter in _parameter_nodes(function.args)}
    yield from _free_names(body, bound | inside | names_bound_by(body))


def _free_in_comprehension(
    node: _Comprehension, bound: frozenset[str]
) -> Iterator[ast.Name]:
    for generator in node.generators:
        yield from _free_names([generator.iter], bound)
        bound |= names_bound_by([generator.target])
        yield from _free_names([generator.target, *generator.ifs], bound)
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    yield from _free_names(parts, bound)


def _type_parameters(node: ast.AST) -> frozenset[str]:
    """Return the names in the brackets of `def f[T](x: T)`, which Python 3.12 brought."""
    return frozenset(parameter.name for parameter in getattr(node, "type_params", ()))

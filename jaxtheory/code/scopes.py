"""Local names of functions, found in a syntax tree.

A local name may be chosen freely, so `source` writes a number in its place. Names of arguments,
classes and imported objects are kept, because they can affect values: an argument may be given by
its name, and Flax names variables after classes.
"""

import ast
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_FREE = 0  # number of the scope around the root


class Local(NamedTuple):
    """A local name: the number of the scope that binds it, and the name itself."""

    scope: int
    name: str

    @property
    def is_free(self) -> bool:
        """True if the name is bound outside of the root."""
        return self.scope == _FREE


class _Scope(NamedTuple):
    """A scope with the names bound in it, those of them that are kept, and the scope around it."""

    number: int
    names: frozenset[str]
    fixed_names: frozenset[str]
    is_class: bool
    outer: "_Scope | None"


def resolve(root: ast.AST, free: Collection[str] = ()) -> dict[int, Any]:
    """Return the local names in a tree, by the id of their node.

    The value is a `Local`, for `nonlocal` a list of a `Local` or a name each. Nodes with names that
    are kept are not in the result.

    Args:
        root: A function, or a module.
        free: The names that the root takes from a function around it.
    """
    places, count = dict[int, Any](), _FREE
    waiting: list[tuple[ast.AST, _Scope | None]] = [(root, None)]

    def look_up(name: str, scope: _Scope | None) -> Local | None:
        inner = scope
        while scope is not None:
            if not scope.is_class or scope is inner:
                if name in scope.fixed_names:
                    return None
                if name in scope.names:
                    return Local(scope.number, name)
            scope = scope.outer
        return Local(_FREE, name) if name in free else None

    while waiting:
        node, scope = waiting.pop()
        name = _name(node)
        if isinstance(node, ast.Nonlocal):
            places[id(node)] = [look_up(x, scope) or x for x in node.names]
        elif name is not None and (place := look_up(name, scope)) is not None:
            places[id(node)] = place
        outside, inside = _split(node)
        waiting += [(child, scope) for child in outside]
        if inside:
            count += 1
            names, fixed_names = _bound(node)
            inner = _Scope(count, names, fixed_names, isinstance(node, ast.ClassDef), scope)
            waiting += [(child, inner) for child in inside]
    return places


def _name(node: ast.AST) -> str | None:
    """Return the name that a node uses or binds in its scope."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.alias):
        return node.asname
    if isinstance(node, ast.MatchMapping):
        return node.rest
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    return node.name if isinstance(node, kinds) else None


def _split(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """Return the nodes within a node that belong to its own scope, and those to a new one."""
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, Function):
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = [*_arguments(node.args), *body]
        defaults = [x for x in (*node.args.defaults, *node.args.kw_defaults) if x is not None]
        return [*getattr(node, "decorator_list", ()), *defaults], inside
    if isinstance(node, ast.ClassDef):
        outside = [*node.decorator_list, *node.bases, *node.keywords]
        return outside, [*node.body]
    if isinstance(node, _COMPREHENSIONS):
        first = node.generators[0]
        inside = [x for x in children if x is not first]
        return [first.iter], [*inside, first.target, *first.ifs]
    return children, []


def _arguments(args: ast.arguments) -> list[ast.arg]:
    """Return the arguments of a function."""
    stars = [x for x in (args.vararg, args.kwarg) if x is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *stars]


def _bound(scope: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a function, a class or a comprehension binds, and those kept."""
    if isinstance(scope, _COMPREHENSIONS):
        targets = [x for generator in scope.generators for x in ast.walk(generator.target)]
        return frozenset(x.id for x in targets if isinstance(x, ast.Name)), frozenset()
    body = getattr(scope, "body", [])
    names, fixed_names, outer = set[str](), set[str](), set[str]()
    if isinstance(scope, Function):
        fixed_names |= {argument.arg for argument in _arguments(scope.args)}
    for node in _own(body if isinstance(body, list) else [body]):
        if isinstance(node, ast.Global):
            fixed_names.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
        elif isinstance(node, ast.ClassDef):
            fixed_names.add(node.name)
        elif isinstance(node, ast.alias):
            (fixed_names if node.asname is None else names).add(
                node.asname or node.name.partition(".")[0]
            )
        elif isinstance(node, ast.Name):
            names |= set() if isinstance(node.ctx, ast.Load) else {node.id}
        elif (name := _name(node)) is not None:
            names.add(name)
    names -= outer
    if isinstance(scope, ast.ClassDef):
        return frozenset(), frozenset(names | fixed_names)
    # Python changes the names of private members
    fixed_names |= {x for x in names if x.startswith("__") and not x.endswith("__")}
    return frozenset(names - fixed_names), frozenset(fixed_names - outer)


def _own(body: list[Any]) -> Iterator[ast.AST]:
    """Yield the nodes whose names belong to the scope of a body."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        outside, inside = _split(node)
        waiting += outside
        if isinstance(node, _COMPREHENSIONS):  # `:=` binds in the scope around a comprehension
            targets = {id(generator.target) for generator in node.generators}
            waiting += _clauses(inside, targets)


def _clauses(nodes: list[ast.AST], targets: set[int]) -> Iterator[ast.AST]:
    """Yield the parts of a comprehension other than its targets."""
    for node in nodes:
        if isinstance(node, ast.comprehension):
            yield from (node.iter, *node.ifs)
        elif id(node) not in targets:
            yield node

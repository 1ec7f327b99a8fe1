"""The rewrites of the compatibility layer, one method a kind of node.

Owns: what is replaced by what. Refuses to know: source text and line numbers; every new node takes its place's.
"""

from __future__ import annotations

import ast
from typing import Any

from peek_core.interpreters import prelude

_TYPES = frozenset({"str", "int", "float", "list", "dict", "set", "tuple", "bytes"})
_BUILTINS = _TYPES | {"len", "bool", "abs", "round", "sum", "min", "max", "repr", "ord", "chr", "sorted", "any", "all"}
_MAPPERS = frozenset({"map", "filter", "reduce"})
_CALLBACKS = frozenset({"key", "default", "default_factory"})


def is_name(node: ast.AST, name: str) -> bool:
    """Whether the node is this bare name."""
    return isinstance(node, ast.Name) and node.id == name


def call(name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    """A call of a bare name."""
    return ast.Call(ast.Name(name, ast.Load()), list(args), keywords or [])


def _may_call_host(function: ast.expr) -> bool:
    """Whether a function given to map or filter is more than a plain built-in."""
    return isinstance(function, ast.Lambda) or (isinstance(function, ast.Name) and function.id not in _BUILTINS)


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


class Rewriter(ast.NodeTransformer):
    """One pass over a cell; `changed` says whether anything had to be rewritten."""

    def __init__(self, properties: frozenset[str], functions: set[str]) -> None:
        self.changed = False
        self._properties, self._functions = properties, functions

    def _put(self, new: Any, old: ast.AST) -> Any:
        self.changed = True
        return ast.copy_location(new, old)

    def visit_Import(self, node: ast.Import) -> Any:
        """`import statistics as st` becomes `st = _peek_statistics`."""
        ours = [a for a in node.names if a.name in prelude.MODULES]
        if not ours:
            return node
        rest = [a for a in node.names if a.name not in prelude.MODULES]
        out: list[ast.stmt] = [ast.Import(rest)] if rest else []
        out += [_assign(a.asname or a.name, ast.Name(f"_peek_{a.name}", ast.Load())) for a in ours]
        return [self._put(n, node) for n in out]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """`from operator import itemgetter` becomes an assignment; so do single names a real module lacks."""
        module = node.module or ""
        out: list[ast.stmt] = []
        rest: list[ast.alias] = []
        for alias in node.names:
            target = alias.asname or alias.name
            extra = prelude.EXTRA_NAMES.get((module, alias.name))
            if module in prelude.MODULES:
                space = ast.Name(f"_peek_{module}", ast.Load())
                out.append(_assign(target, ast.Attribute(space, alias.name, ast.Load())))
            elif extra:
                out.append(_assign(target, ast.Name(extra, ast.Load())))
            else:
                rest.append(alias)
        if not out:
            return node
        if rest:
            out.insert(0, ast.ImportFrom(node.module, rest, node.level))
        return [self._put(n, node) for n in out]

    def visit_Delete(self, node: ast.Delete) -> Any:
        """`del d[k]` pops, `del xs[a:b]` empties the slice, `del x` sets None."""
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                out.append(_assign(target.id, ast.Constant(None)))
            elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
                place = ast.Subscript(target.value, target.slice, ast.Store())
                out.append(ast.Assign([place], ast.List([], ast.Load())))
            elif isinstance(target, ast.Subscript):
                pop = ast.Attribute(target.value, "pop", ast.Load())
                out.append(ast.Expr(ast.Call(pop, [target.slice], [])))
            else:
                return node
        return [self.visit(self._put(n, node)) for n in out]

    def visit_Call(self, node: ast.Call) -> Any:
        """Calls whose arguments or targets the sandbox can't take."""
        for keyword in node.keywords:
            if keyword.arg in _CALLBACKS:
                keyword.value = self._as_function(keyword.value)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in _MAPPERS and node.args:
            if isinstance(node.func, ast.Name) and name != "reduce" and _may_call_host(node.args[0]):
                # The built-in can't wait for a host function; the prelude's stand-in can.
                node.func = self._put(ast.Name(f"_peek_{name}", ast.Load()), node.func)
            node.args[0] = self._as_function(node.args[0])
        if is_name(node.func, "next") and node.args and self._is_lazy(node.args[0]):
            # A generator expression is a list in the sandbox.
            node.args[0] = self._put(call("iter", node.args[0]), node.args[0])
        return self.generic_visit(self._library_call(node))

    def _library_call(self, node: ast.Call) -> ast.Call:
        func = node.func
        if not isinstance(func, ast.Attribute):
            return node
        if (
            is_name(func.value, "json")
            and func.attr == "dumps"
            and any(k.arg in ("default", "cls") for k in node.keywords)
        ):
            return self._renamed(node, "_peek_dumps", node.args)
        if func.attr == "sub" and is_name(func.value, "re") and len(node.args) > 1:
            if not isinstance(node.args[1], (ast.Constant, ast.JoinedStr)):
                return self._renamed(node, "_peek_sub", node.args)
        elif func.attr == "sub" and node.args and self._is_function(node.args[0]):
            return self._renamed(node, "_peek_sub", [func.value, *node.args])
        return node

    def _renamed(self, node: ast.Call, name: str, args: list[ast.expr]) -> ast.Call:
        new: ast.Call = self._put(call(name, *args, keywords=node.keywords), node)
        return new

    def _is_function(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Lambda) or (isinstance(node, ast.Name) and node.id in self._functions)

    def _is_lazy(self, node: ast.expr) -> bool:
        if isinstance(node, ast.GeneratorExp):
            return True
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("map", "filter")

    def _as_function(self, node: ast.expr) -> ast.expr:
        """A method named as a value, `d.get` or `str.lower`, as a lambda that calls it."""
        if not isinstance(node, ast.Attribute):
            return node
        star = ast.Starred(ast.Name("_peek_a", ast.Load()), ast.Load())
        first: list[ast.arg] = []
        target = node.value
        if isinstance(target, ast.Name) and target.id in _TYPES:
            first, target = [ast.arg("_peek_x")], ast.Name("_peek_x", ast.Load())
        body = ast.Call(ast.Attribute(target, node.attr, ast.Load()), [star], [])
        arguments = ast.arguments(
            posonlyargs=[], args=first, vararg=ast.arg("_peek_a"), kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        made: ast.expr = self._put(ast.Lambda(arguments, body), node)
        return made

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Reading a property calls the method it became."""
        self.generic_visit(node)
        if node.attr in self._properties and isinstance(node.ctx, ast.Load):
            return self._put(ast.Call(node, [], []), node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Properties become methods; an exception class that adds nothing becomes its base."""
        if node.bases and isinstance(node.bases[0], ast.Name) and all(_is_empty(n) for n in node.body):
            base = node.bases[0].id
            if base == "Exception" or base.endswith("Error"):
                return self._put(_assign(node.name, ast.Name(base, ast.Load())), node)
        if len(node.bases) == 1 and is_name(node.bases[0], "object"):
            node.bases, self.changed = [], True
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and any(is_name(d, "property") for d in item.decorator_list):
                item.decorator_list = [d for d in item.decorator_list if not is_name(d, "property")]
                self.changed = True
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A simple generator collects into a list and returns an iterator over it."""
        self.generic_visit(node)
        finder = _Yields()
        for statement in node.body:
            finder.visit(statement)
        if finder.statements and finder.statements == finder.all:
            collector = _Collect()
            body = [collector.visit(s) for s in node.body]
            made = [_assign("_peek_y", ast.List([], ast.Load())), *body, _return_collected()]
            node.body = [ast.copy_location(n, node.body[0]) if not hasattr(n, "lineno") else n for n in made]
            self.changed = True
        return node


def _is_empty(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _return_collected() -> ast.Return:
    return ast.Return(call("iter", ast.Name("_peek_y", ast.Load())))


class _Scope(ast.NodeTransformer):
    """Stays inside one function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node


class _Yields(_Scope):
    """Counts yields: all of them, and those that stand alone as a statement."""

    def __init__(self) -> None:
        self.all = self.statements = 0

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.statements += isinstance(node.value, (ast.Yield, ast.YieldFrom))
        return self.generic_visit(node)

    def visit_Yield(self, node: ast.Yield) -> Any:
        self.all += 1
        return self.generic_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Any:
        self.all += 1
        return self.generic_visit(node)


class _Collect(_Scope):
    """`yield x` appends, `yield from xs` extends, `return` returns what was collected."""

    def visit_Expr(self, node: ast.Expr) -> Any:
        value = node.value
        if isinstance(value, (ast.Yield, ast.YieldFrom)):
            method = "append" if isinstance(value, ast.Yield) else "extend"
            target = ast.Attribute(ast.Name("_peek_y", ast.Load()), method, ast.Load())
            made = ast.Expr(ast.Call(target, [value.value or ast.Constant(None)], []))
            return ast.copy_location(made, node)
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        return ast.copy_location(_return_collected(), node)

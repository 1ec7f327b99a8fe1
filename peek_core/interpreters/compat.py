"""The compatibility layer: a cell as models write it becomes a cell the sandbox can run.

Owns: the rewrite of the syntax tree and the map from rewritten lines back to the person's lines (notes B5). Refuses to
know: the sandbox's protocol. A cell that needs nothing is passed on byte for byte, and a cell that can't be parsed here
is left to the sandbox, whose syntax error is then the one shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from peek_core.interpreters.rewrite import Rewriter, call, is_name


@dataclass(frozen=True)
class Cell:
    """A cell ready to be fed. `lines` maps rewritten line -> original line; empty when nothing moved."""

    source: str
    code: str
    lines: dict[int, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    """Names the cell may bind at its top level."""
    properties: frozenset[str] = frozenset()

    def line(self, n: int) -> int:
        """The original line of a line of `code`."""
        if not self.lines:
            return n
        return self.lines[max((k for k in self.lines if k <= n), default=min(self.lines))]


def prepare(source: str, properties: frozenset[str] = frozenset()) -> Cell:
    """Rewrite a cell. `properties` are names of properties that earlier cells defined."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Cell(source, source, properties=properties)
    known = properties | frozenset(_properties(tree))
    names = tuple(dict.fromkeys(_bound(tree)))
    try:
        rewriter = Rewriter(known, {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)})
        tree = rewriter.visit(tree)
        if not rewriter.changed:
            return Cell(source, _show_in_place(source, tree), {}, names, known)
        _show_in_tree(tree)
        ast.fix_missing_locations(tree)
        code = ast.unparse(tree)
        return Cell(source, code, _line_map(tree, ast.parse(code)), names, known)
    except (RecursionError, ValueError, SyntaxError):
        return Cell(source, source, {}, names, known)


def _shown(tree: ast.Module) -> ast.Expr | None:
    """The trailing expression whose value the cell shows."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return None
    value = last.value
    plain_print = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"
    return None if plain_print else last


def _show_in_place(source: str, tree: ast.Module) -> str:
    """Wrap the trailing expression, which may be a bare tuple, and touch nothing else: no line moves."""
    last = _shown(tree)
    if last is None or last.end_lineno is None or last.end_col_offset is None:
        return source
    lines = source.encode("utf-8").split(b"\n")
    end, start = last.end_lineno - 1, last.lineno - 1
    lines[end] = lines[end][: last.end_col_offset] + b"))" + lines[end][last.end_col_offset :]
    lines[start] = lines[start][: last.col_offset] + b"_peek_show((" + lines[start][last.col_offset :]
    return b"\n".join(lines).decode("utf-8")


def _show_in_tree(tree: ast.Module) -> None:
    last = _shown(tree)
    if last is not None:
        last.value = ast.copy_location(call("_peek_show", last.value), last.value)


def _line_map(old: ast.AST, new: ast.AST) -> dict[int, int]:
    """Line of the rewritten text -> line of the original, by walking both trees side by side."""
    lines: dict[int, int] = {}
    for a, b in zip(_statements(old), _statements(new), strict=False):
        if type(a) is not type(b):
            break
        lines.setdefault(b.lineno, a.lineno)
    return lines


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            yield node


def _bound(tree: ast.Module) -> Iterator[str]:
    """Names bound at the top level, in order; also inside its loops and branches, not inside functions."""
    stack: list[ast.AST] = list(reversed(tree.body))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Lambda, ast.Import, ast.ImportFrom, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        elif not isinstance(node, ast.GeneratorExp):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _properties(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(is_name(d, "property") for d in node.decorator_list):
            yield node.name

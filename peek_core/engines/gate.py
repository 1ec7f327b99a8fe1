"""Which statements the agent may run.

Owns: the allow-list over DuckDB's own parser (notes C3). Refuses to know: connections, limits of time and memory.
The gate is no proof of reading only; that the dataset cannot change is the read-only attach. The gate closes what
the locked connection leaves open: SET, USE, DETACH, temp tables that shadow a dataset table, PRAGMA, CALL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from peek_core.errors import QueryFailed

Parse = Callable[[str], Sequence[Any]]
"""`connection.extract_statements`: each result has `.type` and `.query`."""

ALLOWED = (
    "Allowed is one statement: SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW, PIVOT or EXPLAIN; "
    "CREATE [OR REPLACE] TABLE or VIEW scratch.name; INSERT, UPDATE, DELETE, ALTER and DROP on tables and "
    "views in scratch."
)
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE"})
_PIVOT_STARTS = frozenset({"PIVOT", "PIVOT_WIDER", "WITH", "SELECT", "FROM", "("})
_EFFECTS = frozenset({"INSERT", "UPDATE", "DELETE", "COPY", "MERGE"})
_RANDOM = frozenset({"RANDOM", "UUID", "UUIDV4", "UUIDV7", "GEN_RANDOM_UUID", "SAMPLE", "TABLESAMPLE", "SETSEED"})


@dataclass(frozen=True)
class Checked:
    """A statement that passed: its text without a closing semicolon, its kind, and what may be done with it."""

    sql: str
    kind: str
    rerunnable: bool
    """True when running it again changes nothing and gives the same rows, so that they may be counted that way."""
    reads: bool
    """True for statements that give a result and are no write on their face."""


_SPACE = " \t\r\n\f\v"
"""Only what SQL itself skips: Python would strip a no-break space too, which DuckDB reads as a name."""


def check(sql: str, parse: Parse, limit: int) -> Checked:
    """The one allowed statement in `sql`. Raises QueryFailed saying what is allowed, or with DuckDB's syntax error.

    `limit` is in characters.
    """
    if len(sql) > limit:
        raise QueryFailed(f"The statement has {len(sql):,} characters; at most {limit:,} are allowed")
    statement, kind = _single(sql, parse)
    # The parser's own copy: unusual spaces are plain ones in it, so the tokens below are the parser's tokens.
    source = statement.query
    tokens = _tokens(source)
    text = _body(source, tokens)
    words = [word for word, _ in tokens if word != ";"]
    _admit(kind, words, text, parse, limit)
    seen = set(words)
    reads = kind in ("SELECT", "EXPLAIN", "MULTI") and words[0] not in {"CREATE", *_WRITES}
    return Checked(text, kind, kind == "SELECT" and reads and not seen & (_EFFECTS | _RANDOM), reads)


def _single(sql: str, parse: Parse) -> tuple[Any, str]:
    try:
        statements = [(statement, statement.type.name) for statement in parse(sql)]
    except duckdb.ParserException as error:
        raise QueryFailed(str(error)) from None
    except Exception:
        # The Python client raises for statement kinds it has no name for: CONNECT, UPDATE EXTENSIONS, later ones.
        raise _denied("This kind of statement is not allowed") from None
    if not statements:
        raise _denied("There is no statement in this text")
    if len(statements) > 1:
        raise _denied(f"There are {len(statements)} statements in this text; send them one by one")
    return statements[0]


def _admit(kind: str, words: Sequence[str], text: str, parse: Parse, limit: int) -> None:
    first = words[0]
    if first == "EXPLAIN":
        # EXPLAIN ANALYZE runs what it explains, also CREATE TEMP TABLE: the inner statement passes the same gate.
        inner = _explained(text)
        check(inner, parse, limit)
    elif first == "CREATE" and kind in ("CREATE", "MULTI"):
        _admit_create(words)
    elif kind in ("DROP", "ALTER"):
        _admit_change(words)
    elif kind == "MULTI":
        if first not in _PIVOT_STARTS and first != "INSERT":
            raise _denied("This kind of statement is not allowed")
    elif kind != "SELECT" and kind not in _WRITES:
        raise _denied(f"{first} is not allowed")


def _admit_create(words: Sequence[str]) -> None:
    rest = list(words[1:])
    if rest[:2] == ["OR", "REPLACE"]:
        rest = rest[2:]
    if not rest or rest[0] not in ("TABLE", "VIEW"):
        raise _denied(f"CREATE {rest[0] if rest else ''} is not allowed")
    rest = rest[1:]
    if rest[:3] == ["IF", "NOT", "EXISTS"]:
        rest = rest[3:]
    if rest[:2] != ["SCRATCH", "."] and rest[:4] != ["MEMORY", ".", "SCRATCH", "."]:
        raise _denied("Tables and views can only be made in scratch: CREATE TABLE scratch.name AS SELECT …")


def _admit_change(words: Sequence[str]) -> None:
    """DROP and ALTER also speak of schemas, databases, macros and prepared statements; only tables and views pass."""
    if words[0] not in ("DROP", "ALTER", "COMMENT"):
        raise _denied(f"{words[0]} is not allowed")
    what = words[2:3] if words[0] == "COMMENT" else words[1:2]
    if not what or what[0] not in ("TABLE", "VIEW", "COLUMN"):
        raise _denied(f"{words[0]} {what[0] if what else ''} is not allowed")


def _explained(text: str) -> str:
    """What an EXPLAIN explains: the text behind EXPLAIN, ANALYZE and the options in parentheses."""
    tokens = _tokens(text)
    at = 1
    if at < len(tokens) and tokens[at][0] in ("ANALYZE", "ANALYSE"):
        at += 1
    elif at < len(tokens) and tokens[at][0] == "(" and not _starts_query(tokens, at + 1):
        while at < len(tokens) and tokens[at][0] != ")":
            at += 1
        at += 1
    if at >= len(tokens):
        raise _denied("EXPLAIN needs a statement")
    return text.encode("utf-8")[tokens[at][1] :].decode("utf-8")


def _starts_query(tokens: Sequence[tuple[str, int]], at: int) -> bool:
    starts = ("SELECT", "FROM", "WITH", "VALUES", "(", "PIVOT", "TABLE", "DESCRIBE", "SUMMARIZE", "SHOW")
    return at < len(tokens) and tokens[at][0] in starts


def _tokens(sql: str) -> list[tuple[str, int]]:
    """(word in capitals without quotes, byte offset) of each token but comments; operators one character each."""
    data = sql.encode("utf-8")
    found = duckdb.tokenize(sql)
    ends = [offset for offset, _ in found[1:]] + [len(data)]
    out: list[tuple[str, int]] = []
    for (offset, kind), end in zip(found, ends, strict=True):
        if kind.name == "comment":
            continue
        text = data[offset:end].decode("utf-8", "replace").strip(_SPACE)
        if kind.name == "string_const" and text[:1] != '"':
            out.append(("''", offset))
        else:
            out.append((text.strip('"').upper() if text[:1] == '"' else text.upper(), offset))
    return out


def body(sql: str) -> str:
    """A statement's text without closing semicolons and what stands behind them."""
    return _body(sql, _tokens(sql))


def _body(sql: str, tokens: Sequence[tuple[str, int]]) -> str:
    data = sql.encode("utf-8")
    last = len(tokens)
    while last and tokens[last - 1][0] == ";":
        last -= 1
    end = tokens[last][1] if last < len(tokens) else len(data)
    return data[:end].decode("utf-8").strip(_SPACE)


def _denied(what: str) -> QueryFailed:
    return QueryFailed(what.strip(), next=ALLOWED)

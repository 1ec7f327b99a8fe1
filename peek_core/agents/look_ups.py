"""Telling orientation from question work by the SQL itself, not by what a model says of it.

Owns: the rule for what counts as a look-up. Refuses to know: results.
"""

from __future__ import annotations

import re

_MARKED = re.compile(r"/\*\s*look-?up\b", re.I)
_META = re.compile(
    r"^\s*(?:describe|summarize|show|explain)\b|\binformation_schema\b|\bduckdb_(?:columns|tables)\b", re.I
)
_DISTINCT = re.compile(r"^\s*select\s+distinct\b", re.I)
_PEEK = re.compile(
    r"^\s*(?:select\s+(?:\*|[\w\s,\".]+)\s+)?from\b(?!.*\b(?:group\s+by|where)\b).*\blimit\s+\d+\s*;?\s*$", re.I | re.S
)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.S)


def is_look_up(sql: str) -> bool:
    """True for DESCRIBE, SUMMARIZE, SELECT DISTINCT, a bare LIMIT probe, or a query marked `/* look-up */`.

    >>> is_look_up("SELECT DISTINCT region FROM t"), is_look_up("SELECT count(*) FROM t")
    (True, False)
    """
    if _MARKED.search(sql):
        return True
    bare = _COMMENT.sub(" ", sql)
    return bool(_META.search(bare) or _DISTINCT.search(bare) or _PEEK.search(bare))

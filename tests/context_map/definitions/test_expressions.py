"""The language of derived columns: what may stand in it, and that nothing else may."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from peek_core.context_map.definitions.expressions import MAX_NODES, parse, written

COLUMNS = ("a", "b", "opened", "Amount Due", "order")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("A + b * 2", "a + b * 2"),
        ('"amount due" / 100', '"Amount Due" / 100'),
        ('"order" IN (1, -2, NULL)', '"order" IN (1, -2, NULL)'),
        ("CASE WHEN a > 3 AND NOT b IS NULL THEN 'x' ELSE NULL END", "CASE WHEN a > 3 AND NOT b IS NULL THEN 'x' ELSE NULL END"),
        ("case a when 1 then 2 end", "CASE a WHEN 1 THEN 2 END"),
        ("cast(a AS date)", "TRY_CAST(a AS DATE)"),
        ("a::text", "TRY_CAST(a AS TEXT)"),
        ("date_part('year', opened)", "EXTRACT(YEAR FROM opened)"),
        ("extract(isodow from opened)", "EXTRACT(ISODOW FROM opened)"),
        ("date_diff('day', opened, DATE '2024-01-01')", "DATE_DIFF('DAY', opened, TRY_CAST('2024-01-01' AS DATE))"),
        ("date_trunc('month', opened)", "DATE_TRUNC('MONTH', opened)"),
        ("a between 1 and 2 or nullif(a, 0) = 1", "a BETWEEN 1 AND 2 OR NULLIF(a, 0) = 1"),
        ("lower(trim(a)) || concat(a, substr(b, 1, 2)) /* c */", "LOWER(TRIM(a)) || CONCAT(a, SUBSTRING(b, 1, 2))"),
        ("round(greatest(a, least(b, 1)), 2) // 2 % 3", "ROUND(GREATEST(a, LEAST(b, 1)), 2) // 2 % 3"),
        ("contains(a, 'x') and starts_with(a, 'y') and length(replace(a, 'x', '')) > 1", "CONTAINS(a, 'x') AND STARTS_WITH(a, 'y') AND LENGTH(REPLACE(a, 'x', '')) > 1"),
    ],
)  # fmt: skip
def test_what_may_be_said(text: str, kept: str) -> None:
    tree = parse(text, COLUMNS)
    assert not isinstance(tree, str), tree
    assert written(tree) == kept
    again = parse(kept, COLUMNS)
    assert not isinstance(again, str) and written(again) == kept


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(SELECT 1)", "a subquery is not allowed in an expression"),
        ("a IN (SELECT 1)", "IN needs a list of literals"),
        ("a IN (b)", "IN needs a list of literals"),
        ("exists(SELECT 1)", "the function exists is not allowed"),
        ("sum(a)", "sum looks at many rows; an expression looks at one"),
        ("count(*)", "count looks at many rows; an expression looks at one"),
        ("row_number() OVER ()", "a window function is not allowed in an expression"),
        ("list_transform([1], x -> x)", "the function transform is not allowed"),
        ("regexp_matches(a, '(x+)+y')", "the function regexp_like is not allowed"),
        ("read_csv('/etc/passwd')", "the function read_csv is not allowed"),
        ("getenv('HOME')", "the function getenv is not allowed"),
        ("now()", "the function now is not allowed"),
        ("random()", "the function rand is not allowed"),
        ("repeat(a, 1000000)", "the function repeat is not allowed"),
        ("a LIKE '%x%'", "LIKE is not allowed in an expression"),
        ("nope + 1", "no column 'nope'"),
        ("t.a", "'t.a' is no column of this table"),
        ("raw.main.t.a", "'raw.main.t.a' is no column of this table"),
        ("*", "STAR is not allowed in an expression"),
        ("COLUMNS(*)", "the function columns is not allowed"),
        ("a AS b", "ALIAS is not allowed in an expression"),
        ("a; b", "an expression is exactly one"),
        ("", "an expression is exactly one"),
        ("a FROM t", "'a FROM t' can't be read as an expression"),
        ("DROP TABLE t", "DROP is not allowed in an expression"),
        ("$1", "PLACEHOLDER is not allowed in an expression"),
        ("CAST(a AS STRUCT(x INT))", "a cast to STRUCT(X INT) is not allowed"),
        ("CAST(a AS JSON)", "a cast to JSON is not allowed"),
        ("a[1]", "BRACKET is not allowed in an expression"),
        ("date_trunc('secret', a)", "'SECRET' is no unit of time"),
        ("a IS b", "IS is for NULL, TRUE and FALSE"),
        (" + ".join(["a"] * (MAX_NODES // 2 + 1)), "the expression has 61 parts; at most 60 are allowed"),
        ("(" * 400 + "a" + ")" * 400, "the expression is nested more than 12 deep"),
        ("NOT " * 200 + "a", "can't be read as an expression"),
        ("a" * 2_000, "the expression is longer than 1,000 characters"),
        ("'\0'", "the expression is longer than 1,000 characters, or holds odd ones"),
    ],
)  # fmt: skip
def test_what_may_not_is_refused_by_name(text: str, why: str) -> None:
    found = parse(text, COLUMNS)
    assert isinstance(found, str) and why in found


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            ["a", "(", ")", "SELECT", "1", "+", "'", '"', "--", ";", "OVER", "x->x", "CASE", "[", "FROM", "raw.t"]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_whatever_is_accepted_is_one_scalar_over_known_columns(text: str) -> None:
    tree = parse(text, COLUMNS)
    if not isinstance(tree, str):
        (again,) = sqlglot.parse(f"SELECT {written(tree)} AS x FROM t", read="duckdb")
        assert isinstance(again, exp.Select)
        assert not list(again.find_all(exp.Query))[1:] and not again.find(exp.AggFunc, exp.Window, exp.Lambda)
        assert {c.name for c in again.find_all(exp.Column)} <= set(COLUMNS)
        assert [t.name for t in again.find_all(exp.Table)] == ["t"]

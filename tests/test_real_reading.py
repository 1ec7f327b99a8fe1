"""Real failures of reading from public bug reports, with five variants of each: what the data say, and that it is said.

Dates, numbers, codes and types of these reports stand in corpus/typed/test_local_values.py; workbooks and JSON Lines in
their readers' tests.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from peek_core.workspace import Workspace

Open = Callable[..., Workspace]
ROWS = "".join(f"{n},{1 + n % 5},{'fine' if n <= 120 else 'slow, very slow'}\n" for n in range(1, 501))


def loaded(
    open_workspace: Open, folder: Path, content: str | bytes, name: str = "feedback.csv"
) -> tuple[Workspace, str]:
    source = folder / name
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    w = open_workspace()
    return w, w.load(source).id


def said(w: Workspace, dataset: str) -> str:
    report = w.report(dataset)
    lines = [line for t in report.tables for line in (*t.repairs, *t.assumptions)]
    return "\n".join([*lines, *(f"{d.where}: {d.what}" for d in report.doubts), report.tables[0].encoding])


UNQUOTED = [
    # RC-01, then: another delimiter, text in the middle, text first, two texts, few such rows far down
    ("id,score,comment\n" + ROWS, "count(*), avg(score), count(*) FILTER (comment = 'slow, very slow')", (500, 3.0, 380), "380 lines"),
    ("id;score;comment\n" + ROWS.replace(",", ";"), "count(*), avg(score), max(comment)", (500, 3.0, "slow; very slow"), "380 lines"),
    ("id,comment,score\n1,good,5\n2,bad, really bad,1\n3,fine,3\n4,ok,4\n", "count(*), sum(score), max(comment) FILTER (id = 2)", (4, 13, "bad, really bad"), "Line 3"),
    ("comment,id\nfine,1\nslow, slow, slow,2\nok,3\n", "count(*), sum(id), max(length(comment))", (3, 6, 16), "Line 3"),
    ("id,subject,body,n\n1,a,b,5\n2,c,d, e,6\n3,f,g,7\n", "count(*), sum(n), max(body)", (3, 18, "g"), "Line 3"),
    ("id,comment\n" + "".join(f"{n},ok\n" for n in range(9_000)) + "9000,late, too late\n", "count(*), max(comment) FILTER (id = 9000)", (9_001, "late, too late"), "Line 9,002"),
    # variant b of RC-01: a header that ends with a delimiter
    ("id,score,comment,\n1,5,a\n2,3,b\n3,1,c\n", "count(*), avg(score), max(comment)", (3, 3.0, "c"), "empty field"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "what", "right", "word"), UNQUOTED)
def test_delimiters_in_unquoted_text_lose_no_row(
    open_workspace: Open, tmp_path: Path, content: str, what: str, right: tuple[object, ...], word: str
) -> None:
    w, dataset = loaded(open_workspace, tmp_path, content)
    assert w.sql(dataset, f"SELECT {what} FROM feedback").table.rows == (right,)
    assert word in said(w, dataset)


TEXTS = ["It’s “great” – worth 5 €", "Café was closed", "Refund of 20 € still pending", "ok"]
ENCODED = [
    ("cp1252", TEXTS, "Windows-1252"),
    ("cp1252", ["naïve", "Straße – gesperrt", "5 € zurück", "‘so’"], "Windows-1252"),
    ("utf-16", TEXTS, "UTF-16"),
    ("utf-8-sig", TEXTS, "UTF-8"),
    (
        "cp1251",
        ["Приложение вылетает", "Всё хорошо", "Очень медленно работает", "Добавьте тёмную тему"] * 5,
        "not UTF-8",
    ),
    ("gb18030", ["应用程序总是崩溃", "请尽快修复这个问题", "很好用", "太慢了"] * 5, "not UTF-8"),
]


@pytest.mark.parametrize(("encoding", "texts", "word"), ENCODED)
def test_characters_arrive_intact_and_the_encoding_is_named(
    open_workspace: Open, tmp_path: Path, encoding: str, texts: list[str], word: str
) -> None:
    """RC-08."""
    content = "id,comment\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts))
    w, dataset = loaded(open_workspace, tmp_path, content.encode(encoding))
    assert [row[0] for row in w.sql(dataset, "SELECT comment FROM feedback ORDER BY id").table.rows] == texts
    assert word in said(w, dataset)


def test_euro_signs_are_counted(open_workspace: Open, tmp_path: Path) -> None:
    """RC-08, asked."""
    content = "id,comment\n" + "".join(f"{n},{text}\n" for n, text in enumerate(TEXTS, start=1))
    w, dataset = loaded(open_workspace, tmp_path, content.encode("cp1252"))
    assert w.sql(dataset, "SELECT list(id) FROM feedback WHERE contains(comment, '€')").table.rows == (([1, 3],),)


STRAY = [
    # RC-15, then: a quote at the end, two of them, single quotes around, a delimiter behind the stray quote, one that never closes
    ('id,product,comment\n1,TV,"The 55" screen is great"\n2,TV,43" model arrived broken\n3,Radio,"He said ""no"" twice"\n4,Radio,fine\n',
     ['The 55" screen is great', '43" model arrived broken', 'He said "no" twice', "fine"]),
    ('id,product,comment\n1,TV,"a 55""\n2,TV,b\n3,TV,c\n', ['a 55"', "b", "c"]),
    ('id,product,comment\n1,TV,"a "b" and "c" d"\n2,TV,x\n3,TV,y\n', ['a "b" and "c" d', "x", "y"]),
    ("id,product,comment\n1,'TV','it''s, well'\n2,'TV','so'\n3,'TV','b'\n", ["it's, well", "so", "b"]),
    ('id;product;comment\n1;TV;"pedro "pdet" ho;landa"\n2;TV;"x"\n3;TV;"y"\n', ['pedro "pdet" ho;landa', "x", "y"]),
    ('id,product,comment\n1,TV,"never closed\n2,TV,x\n3,TV,y\n', ['"never closed', "x", "y"]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "comments"), STRAY)
def test_stray_quotes_stay_in_the_text(open_workspace: Open, tmp_path: Path, content: str, comments: list[str]) -> None:
    """RC-15."""
    w, dataset = loaded(open_workspace, tmp_path, content)
    assert [row[0] for row in w.sql(dataset, "SELECT comment FROM feedback ORDER BY id").table.rows] == comments


def test_tickets_about_tv_are_counted(open_workspace: Open, tmp_path: Path) -> None:
    """RC-15, asked."""
    w, dataset = loaded(open_workspace, tmp_path, STRAY[0][0])
    view = w.wait(w.ask(dataset, "How many comments are about product TV?"), 60)
    assert view.trajectory is not None and view.trajectory.answer is not None and view.trajectory.answer.value == 2


AWKWARD = [
    # RC-16, then: keywords, blanks and line ends, other scripts, equal names, no names
    ("order,group,3rd_party,location.depth,Rating,rating,Customer ID ,\n1,A,y,10,5,50,c1,\n2,A,n,20,3,30,c2,\n3,B,y,30,4,40,c3,\n",
     "SELECT avg(order_) FILTER (group_ = 'A'), avg(rating_2), count(DISTINCT customer_id) FROM feedback", (1.5, 40.0, 3), "“location.depth” is location_depth"),
    ("select,from,where\n1,2,3\n4,5,6\n", "SELECT sum(select_), sum(from_), sum(where_) FROM feedback", (5, 7, 9), "“select” is select_"),
    ('"Customer\nnumber",  c  d ,e\n1,2,3\n4,5,6\n', "SELECT sum(customer_number), sum(c_d), sum(e) FROM feedback", (5, 7, 9), "“Customer number” is customer_number"),
    ("Größe,日付,prix €\n1,2,3\n4,5,6\n", "SELECT sum(größe), sum(日付), sum(prix) FROM feedback", (5, 7, 9), "“prix €” is prix"),
    ("a,A,a\n1,2,3\n4,5,6\n", "SELECT sum(a), sum(a_2), sum(a_3) FROM feedback", (5, 7, 9), "“A” is a_2"),
    ("id,,\n1,2,x\n4,5,y\n", "SELECT sum(id), sum(column_2), max(column_3) FROM feedback", (5, 7, "y"), "“” is column_2"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "query", "right", "word"), AWKWARD)
def test_awkward_headers_get_names_that_are_listed(
    open_workspace: Open, tmp_path: Path, content: str, query: str, right: tuple[object, ...], word: str
) -> None:
    """RC-16."""
    w, dataset = loaded(open_workspace, tmp_path, content)
    assert w.sql(dataset, query).table.rows == (right,)
    assert word in said(w, dataset)

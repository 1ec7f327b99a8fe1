"""Real failures from public bug reports, answered by the built-in analyst on small data of our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from peek_core.values.run_view import RunView
from peek_core.workspace import Workspace


def ask(w: Workspace, dataset: str, question: str) -> RunView:
    return w.wait(w.ask(dataset, question), 60)


def text(view: RunView) -> str:
    """Answer, notes and offers as a person reads them."""
    answer = view.trajectory.answer if view.trajectory else None
    assert answer is not None
    return " ".join([answer.text, *answer.notes, *answer.suggestions, *answer.follow_ups])


def load(w: Workspace, tmp_path: Path, name: str, content: str) -> str:
    path = tmp_path / f"{name}.csv"
    path.write_text(content, "utf-8")
    return w.load(path).id


def test_rc_03_a_follow_up_narrows_what_was_asked_before(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    rows = [("email", s) for s in (1, 2, 2, 3, 4, 5)] + [("chat", s) for s in (4, 4, 5, 1)]
    w = open_workspace()
    d = load(
        w, tmp_path, "comments", "id,channel,score\n" + "".join(f"{i},{c},{s}\n" for i, (c, s) in enumerate(rows, 1))
    )
    views = [
        ask(w, d, q) for q in ("How many email comments?", "Of those, how many scored 4 or more?", "And for chat?")
    ]
    assert [v.trajectory.answer.value for v in views] == [6, 2, 3]  # type: ignore[union-attr]
    call = w.explaining.calls(views[1].id)[0]
    texts, _ = w.explaining.texts(d, call)
    assert "How many email comments?" in texts[next(s.hash for s in call.explain.sections if s.name == "conversation")]


def test_rc_22_a_share_says_of_what(open_workspace: Callable[..., Workspace], tmp_path: Path) -> None:
    values = ["yes"] * 4 + ["no"] * 3 + [""] * 3
    w = open_workspace()
    d = load(w, tmp_path, "survey", "id,would_recommend\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values, 1)))
    said = text(ask(w, d, "What share would recommend us?"))
    assert "57.1 %" in said
    assert "7" in said
    assert "40" in said
    assert "10" in said


def test_rc_23_a_list_has_its_full_count_and_its_full_export(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    w = open_workspace()
    d = load(
        w,
        tmp_path,
        "tickets",
        "id,status,subject\n" + "".join(f"{i},{'open' if i <= 1742 else 'closed'},t{i}\n" for i in range(1, 5001)),
    )
    view = ask(w, d, "List the open tickets; how many are there?")
    answer = view.trajectory.answer  # type: ignore[union-attr]
    assert answer is not None
    assert "1,742" in answer.text
    assert answer.table is not None
    assert answer.table.row_count == 1742
    assert answer.sql is not None
    assert w.export_csv(d, answer.sql, tmp_path / "all.csv") == 1742


def test_rc_24_an_empty_last_month_is_said_and_the_latest_offered(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    days = [f"2023-{m:02d}-{1 + i % 28:02d}" for m in range(1, 11) for i in range(30)] + [
        f"2023-11-{1 + i % 30:02d}" for i in range(120)
    ]
    w = open_workspace()
    d = load(
        w, tmp_path, "complaints", "id,created,text\n" + "".join(f"{i},{day},bad\n" for i, day in enumerate(days, 1))
    )
    view = ask(w, d, "How many complaints last month?")
    said = text(view)
    assert "2023-11-30" in said
    assert "November 2023" in said
    assert view.trajectory.answer.value != 120  # type: ignore[union-attr]


def test_rc_27_a_name_that_is_not_there_is_never_answered_under_another(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    w = open_workspace()
    d = load(
        w,
        tmp_path,
        "reports",
        "id,reporter,text\n" + "".join(f"{i},{n},x\n" for i, n in enumerate(["Kevin"] * 3 + ["Karin"] * 2, 1)),
    )
    view = ask(w, d, "Show what Kevib reported.")
    answer = view.trajectory.answer  # type: ignore[union-attr]
    assert view.status == "no_answer"
    assert answer is not None
    assert any("Kevin" in s for s in answer.suggestions)
    assert answer.table is None


def test_rc_20_spellings_of_one_city_are_both_named(open_workspace: Callable[..., Workspace], tmp_path: Path) -> None:
    w = open_workspace()
    others = [f"A{n:02},100" for n in range(1, 21)] + [f"b{n:02},100" for n in range(1, 16)]
    rows = [*others, *["Paris,111"] * 3, *["paris,50"] * 2]
    dataset = load(w, tmp_path, "sales.csv", "city,amount\n" + "\n".join(rows) + "\n")
    said = text(ask(w, dataset, "revenue in Paris?"))
    assert "433" in said and "333" in said and "Paris" in said and "paris" in said
    city = next(c for c in w.profile(dataset).tables[0].columns if c.name == "city")
    assert city.distinct == 37 and (city.complete or len(city.top) < 37)


def test_rc_06_what_is_kept_is_its_own_question_and_nothing_is_known_of_the_person(
    open_workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    w = open_workspace()
    agents = ["Christophe"] * 4 + ["Anna"] * 6 + ["Ben"] * 5
    rows = "\n".join(f'{n},{agent},"complaint {n}: too slow"' for n, agent in enumerate(agents))
    dataset = load(w, tmp_path, "complaints.csv", f"id,agent,comment\n{rows}\n")
    first = ask(w, dataset, "How many complaints are about Christophe?")
    about_me = ask(w, dataset, "What do you know about me?")
    third = ask(w, dataset, "How many comments are there per agent?")
    assert "4" in text(first)
    assert about_me.status == "no_answer"
    current, item = w.curator(dataset).keep(third)
    assert (item.question, item.run, item.section.value) == (third.question, third.id, "rr")
    assert item.evidence is not None and third.trajectory and third.trajectory.answer
    assert item.evidence.sql == third.trajectory.answer.sql
    assert {row[0]: row[1] for row in item.evidence.expect}["Christophe"] == 4
    assert not any("you" in i.text.lower().split() or " me " in i.text for i in current.items)

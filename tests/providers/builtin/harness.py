"""Plays the built-in analyst against a plain DuckDB connection, under the rules of the agent's loop.

Owns: a profile, a view with definitions compiled in, the cell runner, a small map, and the sample series.
Refuses to know: the analyst's insides; it sees replies only.

    python -m tests.providers.builtin.harness     plays the sample series with and without a map and prints the figures
"""

from __future__ import annotations

import ast
import csv
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from peek_core.providers.builtin.provider import BuiltinAnalyst
from peek_core.values.canon import content_hash, plain
from peek_core.values.dataset import ColumnProfile, Profile, TableProfile, TopValue
from peek_core.values.messages import PromptSection


class Going:
    """A cancel token that is never cancelled."""

    cancelled = False

    def check(self) -> None:
        return None

    def on_cancel(self, act: Any) -> Any:
        return lambda: None


def section(kind: str, data: Mapping[str, Any]) -> PromptSection:
    return PromptSection(kind, kind, "user", "", 0, content_hash(data), data)


def ask_provider(sections: Sequence[PromptSection]) -> str:
    provider = BuiltinAnalyst()
    return provider.send(provider.encode(sections, None), Going(), lambda: None).text


def profile(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> Profile:
    """The profile as the app tells it: `top` holds five values at most."""
    found = []
    for table in tables:
        rows = con.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0]
        columns = []
        for name, kind, *_ in con.execute(f'DESCRIBE "{table}"').fetchall():
            c = '"' + name.replace('"', '""') + '"'
            used, distinct, low, high, length = con.execute(
                f"SELECT count({c}), count(DISTINCT {c}), min({c})::VARCHAR, max({c})::VARCHAR, "
                f'avg(length({c}::VARCHAR)) FROM "{table}"'
            ).fetchall()[0]
            top = con.execute(
                f'SELECT {c}::VARCHAR, count(*) FROM "{table}" WHERE {c} IS NOT NULL GROUP BY 1 ORDER BY '
                f"2 DESC, 1 LIMIT 5"
            ).fetchall()
            free = kind == "VARCHAR" and (length or 0) > 20 and distinct > 0.05 * used
            values = tuple(TopValue(v[:60], n) for v, n in top)
            columns.append(
                ColumnProfile(name, name, kind, rows - used, distinct, low, high, values, distinct <= 5, length, free)
            )
        found.append(TableProfile(table, rows, tuple(columns)))
    return Profile(tuple(found))


@dataclass
class Play:
    """A dataset, its map and its definitions, over a series of questions."""

    raw: duckdb.DuckDBPyConnection
    table: str
    today: str
    with_map: bool = True
    accept: bool = True
    sharing: tuple[str, ...] = ()
    definitions: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    next_id: int = 1

    def __post_init__(self) -> None:
        self._view()

    def _view(self) -> None:
        """Compiles what is on: the curated view has the raw table's name in another schema."""
        where, columns = ["TRUE"], {}
        for d in self.definitions:
            c, column = '"' + str(d["column"]) + '"', str(d["column"])
            if d["state"] != "on":
                continue
            values = ", ".join(_lit(v) for v in d.get("values", ()))
            if d["kind"] == "row_exclusion":
                where.append(f"({c} IS NULL OR {c} NOT IN ({values}))")
            elif d["kind"] == "unit":
                columns[column] = f"{c} * {d['factor']}"
            elif d["kind"] == "sentinel":
                columns[column] = f"CASE WHEN {c} IN ({values}) THEN NULL ELSE {columns.get(column, c)} END"
            else:
                cases = " ".join(f"WHEN {_lit(k)} THEN {_lit(v)}" for k, v in d["mapping"].items())
                columns[column] = f"CASE {c} {cases} ELSE {columns.get(column, c)} END"
        star = "*" + (
            " REPLACE (" + ", ".join(e + ' AS "' + n + '"' for n, e in columns.items()) + ")" if columns else ""
        )
        self.raw.execute("CREATE SCHEMA IF NOT EXISTS cur")
        self.raw.execute(
            f'CREATE OR REPLACE TABLE cur."{self.table}" AS SELECT {star} FROM main."{self.table}" '
            f"WHERE {' AND '.join(where)}"
        )
        self.raw.execute("SET search_path = 'cur'")
        self.profile = plain(profile(self.raw, [self.table]))

    def _shared(self) -> list[PromptSection]:
        known = [section("definitions", {"definitions": self.definitions}), section("memory", {"items": self.items})]
        return [section("profile", self.profile), *(known if self.with_map else [])]

    def ask(self, question: str, learn: bool = True) -> dict[str, Any]:
        """One question to its end; returns what FINAL was given, and the steps."""
        steps: list[dict[str, Any]] = []
        final: dict[str, Any] | None = None
        for turn in range(1, 9):
            asked = {"source": "step", "question": question, "today": self.today, "turn": turn, "turns_left": 8 - turn}
            request = [
                *self._shared(),
                section("history", {"turns": self.turns[-3:]}),
                *(section("working_memory", s) for s in steps),
                section("question", asked),
            ]
            reply = ask_provider(request)
            assert reply == ask_provider(request), "the same sections must give the same reply"
            step, final = self._cell(len(steps) + 1, reply, steps)
            steps.append(step)
            if final is not None:
                break
        assert final is not None, f"no end: {question}"
        shown = next((q for s in reversed(steps) for q in s["queries"] if q.get("shown")), None)
        final |= {"steps": steps, "look_ups": sum(q["look_up"] for s in steps for q in s["queries"]), "table": shown}
        self.turns.append(
            {
                "question": question,
                "answer": final["answer"],
                "sql": shown and shown["sql"],
                "columns": shown and shown["columns"],
                "row_count": shown and shown["row_count"],
                "reading": final.get("reading"),
            }
        )
        if learn and self.with_map:
            self._learn(question, final)
        return final

    def _cell(
        self, n: int, reply: str, steps: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        assert reply.startswith("```python\n") and reply.endswith("\n```") and reply.count("```") == 2, reply
        code = reply[len("```python\n") : -len("\n```")]
        step: dict[str, Any] = {"n": n, "code": code, "queries": [], "stdout": "", "error": None}
        for node in ast.parse(code).body:
            assert (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Call)
                and isinstance(node.value.func, ast.Name)
            )
            args = [ast.literal_eval(a) for a in node.value.args]
            more = {str(k.arg): ast.literal_eval(k.value) for k in node.value.keywords}
            if node.value.func.id == "FINAL":
                worked = any(not q["error"] for s in steps for q in s["queries"])
                assert args[0] is None or worked, "FINAL before a successful query"
                return step, {
                    "answer": args[0],
                    "value": None,
                    "notes": [],
                    "suggestions": [],
                    "follow_ups": [],
                    "items": [],
                    **more,
                }
            step["queries"].append(self._query(args[0], node.value.func.id == "show"))
        return step, None

    def _query(self, sql: str, shown: bool) -> dict[str, Any]:
        done: dict[str, Any] = {
            "sql": sql,
            "columns": [],
            "rows": [],
            "row_count": None,
            "error": None,
            "look_up": sql.startswith("/* look-up */"),
            "shown": shown,
        }
        try:
            cursor = self.raw.execute(sql)
            rows = cursor.fetchall()
            done |= {
                "columns": [d[0] for d in cursor.description or ()],
                "rows": plain(rows[:50]),
                "row_count": len(rows),
                "all": rows if shown else None,
            }
        except duckdb.Error as error:
            done["error"] = str(error)
        return {k: v for k, v in done.items() if k != "all"} | {"whole": plain(done.get("all"))} if shown else done

    def _learn(self, question: str, final: Mapping[str, Any]) -> None:
        """Distil, chart, admit by evidence, accept definitions where the arm says so."""
        run = {
            "question": question,
            "status": "answered" if final["answer"] is not None else "no_answer",
            "answer": final["answer"],
            "reading": final.get("reading"),
            "steps": final["steps"],
            "history": [t["question"] for t in self.turns[:-1]],
        }
        told = json.loads(
            ask_provider(
                [section("constraints", {"source": "distill"}), *self._shared(), section("working_memory", run)]
            )
        )
        assert len(told["candidates"]) <= 4
        work = {"distillation": told, "budget": 1024, "tokens": sum(len(i["text"]) // 4 for i in self.items)}
        edits = json.loads(
            ask_provider(
                [section("constraints", {"source": "chart"}), *self._shared(), section("working_memory", work)]
            )
        )
        for edit in edits["edits"]:
            if edit["op"] == "DELETE":
                self.items = [i for i in self.items if i["id"] != edit["id"]]
                continue
            evidence = told["candidates"][edit["candidate"]]["evidence"]
            if evidence and plain(self.raw.execute(evidence["sql"]).fetchall()) != evidence["expect"]:
                self.refused.append(edit["text"])
            elif edit["op"] == "ADD":
                self.items.append(
                    {"id": f"{edit['section']}-{self.next_id:05d}", "section": edit["section"], "text": edit["text"]}
                )
                self.next_id += 1
            else:
                self.items = [{**i, "text": edit["text"]} if i["id"] == edit["id"] else i for i in self.items]
        for index in edits["definitions"]:
            made = told["candidates"][index]["definition"]
            self.definitions.append(
                {**made, "id": f"def-{len(self.definitions) + 1}", "state": "on" if self.accept else "proposed"}
            )
        if edits["definitions"] and self.accept:
            self._view()


def _lit(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def load(table: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> duckdb.DuckDBPyConnection:
    """A connection with one table, types found by DuckDB; the text NA stays text."""
    con = duckdb.connect()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        text = [h for h in header if h.endswith("version")]
        types = f", types={dict.fromkeys(text, 'VARCHAR')}" if text else ""
        con.execute(
            f'CREATE TABLE "{table}" AS SELECT * FROM read_csv($1, header=true, sample_size=-1{types})', [str(path)]
        )
    return con


def right(line: Mapping[str, Any], final: Mapping[str, Any]) -> bool:
    """Whether an answer is the gold one; shares may be told in percent."""
    want, kind, near = line["answer"], line["answer_kind"], float(line["tolerance"])
    scale = 100 if kind == "share" else 1
    if kind == "none":
        return False
    if kind == "table":
        got = list((final["table"] or {}).get("whole") or [])
        factor = 100 if final["reading"]["measure"]["kind"] == "share" else 1
        return len(got) == len(want) and all(any(_row(w, g, near, factor) for g in got) for w in want)
    if kind == "text":
        return str(final["value"]) == str(want)
    return final["value"] is not None and abs(float(final["value"]) - float(want) * scale) <= near * scale + 1e-9


def _row(want: Sequence[Any], got: Sequence[Any], near: float, factor: int) -> bool:
    return len(want) == len(got) and all(
        abs(g - w * factor) <= near * factor + 1e-6
        if isinstance(w, (int, float)) and isinstance(g, (int, float))
        else g == w
        for w, g in zip(want, got, strict=True)
    )


def series(
    with_map: bool, lines: Sequence[Mapping[str, Any]], con: duckdb.DuckDBPyConnection, verbose: bool = False
) -> dict[str, Any]:
    """Plays the sample series in one arm."""
    play = Play(con, "product_feedback", "2026-11-15", with_map=with_map)
    score: dict[str, Any] = {
        "answered": 0,
        "right": 0,
        "wrong": [],
        "look_ups": 0,
        "s": 0,
        "s_answered": 0,
        "play": play,
        "each": {},
    }
    for line in lines:
        final = play.ask(line["question"])
        said = final["answer"] is not None
        ok = said and right(line, final)
        score["each"][line["id"]] = (said, ok, final["look_ups"])
        score["s"] += line["kind"] == "S"
        score["s_answered"] += said and line["kind"] == "S"
        score["answered"] += said
        score["right"] += ok
        score["look_ups"] += final["look_ups"]
        score["wrong"] += [line["id"]] if said and not ok else []
        if verbose:
            print(
                f"{line['id']} {line['kind']} {'ok   ' if ok else 'WRONG' if said else '-    '} "
                f"{final['look_ups']} | {line['question']}\n      "
                f"{final['answer'] or final['notes'][0]}\n      "
                f"{final['notes'] if said else final['suggestions']}"
            )
            if said and not ok:
                print("      gold", line["answer"], "got", final["value"], (final["table"] or {}).get("rows"))
    return score


def sample() -> tuple[list[dict[str, Any]], duckdb.DuckDBPyConnection]:
    """The sample corpus and its questions."""
    from sample_corpora.product_feedback import generate

    lines = [
        json.loads(x)
        for x in Path(generate.__file__).with_name("questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return lines, load("product_feedback", generate.COLUMNS, (r[: len(generate.COLUMNS)] for r in generate.build()))


def main() -> None:
    """Prints what the series gave in both arms."""
    lines, con = sample()
    for with_map in (True, False):
        s = series(with_map, lines, con, verbose=("-v" in sys.argv and with_map) or "-vv" in sys.argv)
        print(
            f"map {with_map}: answered {s['answered']} of {len(lines)} (S {s['s_answered']} of "
            f"{s['s']}), right {s['right']}, wrong {s['wrong']}, look-ups {s['look_ups']}"
        )
        if with_map:
            print(
                *(f"  {i['id']} {i['text']}" for i in s["play"].items),
                *(f"  {d}" for d in s["play"].definitions),
                f"  refused: {s['play'].refused}",
                sep="\n",
            )


if __name__ == "__main__":
    main()

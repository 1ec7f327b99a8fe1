"""A provider that plays the worth bench: it obeys whatever the prompt says, and knows nothing else.

It applies exactly those facts whose text stands in its request, by putting their definitions around the gold query; what
is compiled into the view needs no fact. So the harness must show: no facts, wrong; facts or view, right; stale, wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peek_core.ports import CancelToken, Capabilities
from peek_core.values.canon import canonical_json
from peek_core.values.messages import Completion, PromptSection, Usage
from tests.bench.worth_questions import Asked, Corpus, Fact


class Obedient:
    """Implements ports.Provider for the questions of one corpus."""

    name = "scripted"
    model = "obedient script, no model"
    endpoint = ""
    capabilities = Capabilities(window=64_000, max_output=8_000)

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def encode(self, sections: Sequence[PromptSection], schema: Mapping[str, Any] | None) -> bytes:
        return canonical_json([{"name": s.name, "text": s.text} for s in sections]).encode()

    def send(self, wire: bytes, cancel: CancelToken, on_first_byte: Callable[[], None]) -> Completion:
        cancel.check()
        on_first_byte()
        sections = json.loads(wire)
        reply = self._reply("\n".join(s["text"] for s in sections), {s["name"] for s in sections})
        return Completion(reply, "stop", Usage(input=len(wire) // 4, output=len(reply) // 4), model=self.model)

    def _reply(self, prompt: str, names: set[str]) -> str:
        if "question" not in names:
            return '{"tags": [], "candidates": [], "edits": []}'
        if "observation 1" in names:
            return "```python\nFINAL('See the result.', value=rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None)\n```"
        asked = next(q for q in self._corpus.questions if f"QUESTION: {q.question}" in prompt)
        sql = json.dumps(self._sql(asked, prompt))
        return f"```python\nresult = sql({sql})\nshow({sql})\nrows = [list(r.values()) for r in result]\nprint(rows[:3])\n```"

    def _sql(self, asked: Asked, prompt: str) -> str:
        """The gold query with what the prompt's facts say put around its tables, and its terms as the prompt has them."""
        sql = asked.sql
        for fact in self._corpus.facts:
            if fact.definition is None and fact.text not in prompt:
                sql = _misled(sql)
        told = [f for f in self._corpus.facts if f.definition and (f.text in prompt or (f.stale and f.stale in prompt))]
        tables = dict.fromkeys(str(f.definition["table"]) for f in told if f.definition)
        ctes = [f"{table} AS ({_curated(table, told, prompt)})" for table in tables]
        return f"WITH {', '.join(ctes)} {sql}" if ctes else sql


def _misled(sql: str) -> str:
    """Terms that nobody explained, or that are explained wrongly, are guessed."""
    return (
        sql.replace("<= 2", "<= 3")
        .replace(">= 9", ">= 8")
        .replace("> 480", "> 240")
        .replace("satisfaction >= 4", "satisfaction >= 3")
    )


def _curated(table: str, told: Sequence[Fact], prompt: str) -> str:
    replaced, left_out = [], []
    for fact in told:
        d = fact.definition or {}
        if d["table"] != table:
            continue
        column, stale = d["column"], bool(fact.stale) and fact.stale in prompt
        if d["kind"] == "row_exclusion":
            left_out.append(f"{column} NOT IN ({_literals(d['values'])})")
        elif d["kind"] == "sentinel":
            replaced.append(f"CASE WHEN {column} IN ({_literals(d['values'])}) THEN NULL ELSE {column} END AS {column}")
        elif d["kind"] == "unit":
            replaced.append(f"{column} * {1 if stale else d['factor']} AS {column}")
        else:
            pairs = dict(zip(d["mapping"], reversed(d["mapping"].values()), strict=True)) if stale else d["mapping"]
            cases = " ".join(f"WHEN '{old}' THEN '{new}'" for old, new in pairs.items())
            replaced.append(f"CASE {column} {cases} ELSE {column} END AS {column}")
    select = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
    where = f" WHERE {' AND '.join(left_out)}" if left_out else ""
    return f"SELECT {select} FROM main.{table}{where}"


def _literals(values: Sequence[Any]) -> str:
    return ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in values)

"""Admission: what may enter the map. Evidence is run; claims its query does not reproduce stay out.

Owns: the checks, their order and their reasons. Refuses to know: models, storage. SQL goes through the query function
it is given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlglot
from rapidfuzz import fuzz
from sqlglot import exp

from peek_core.context_map.evidence import check, gather
from peek_core.context_map.map import ContextMap, Edit, EvidenceState, MapItem
from peek_core.context_map.slots import slotted
from peek_core.errors import PeekError
from peek_core.ports import RunQuery
from peek_core.values.canon import clean_text, fold
from peek_core.values.trajectory import Trajectory

MAX_CHARS = 600
MAX_QUOTE = 60
NEAR = 92.0
"""token_set_ratio above which two items of one section say the same."""
_CELL = 40
"""Characters in a row that a text may take from a cell."""

# Text that tells the next model what to do instead of saying what is true of the data, in the languages that such
# text mostly comes in. A list never ends; evidence, the frame around the map and its place below the rules hold the rest.
_ORDERS = re.compile(
    r"\b(ignore (?:all|any|previous|the above|every)|disregard|you (?:must|should|are now)|always (?:answer|reply)|"
    r"never answer|do not (?:tell|reveal|mention)|system prompt|as an ai|new instructions?|override|jailbreak|"
    r"(?:send|post|upload|forward) (?:it|this|the data|them|everything) to)\b"
    r"|\b(?:ignor\w*|vergiss|vergessen|oubli\w*|olvid\w*|dimentic\w*|esque[çc]\w*|negeer|vergeet|zignoruj)\b.{0,40}"
    r"\b(?:instru\w+|anweisung\w*|regel\w*|consignes?|istruzion\w*|instrukcj\w*|opdracht\w*)"
    r"|\b(?:antworte|r[ée]pond(?:s|ez)|responde|rispondi|odpowiadaj) (?:immer|nie|nur|toujours|jamais|siempre|nunca|"
    r"sempre|mai|zawsze)\b"
    r"|(?:игнорируй|забудь|не обращай внимания)"
    r"|(?:忽略|无视|忽視|無視|忘记).{0,12}(?:指令|指示|说明|命令)|(?:무시).{0,12}(?:지시|명령)"
    r"|(?:지시|명령).{0,12}무시|(?:指示|命令).{0,12}無視|تجاهل.{0,30}(?:التعليمات|الأوامر)",
    re.I,
)
_MARKUP = re.compile(r"<\|[^|]*\|>|</?(?:system|assistant|user|tool)\b|!\[[^\]]*\]\(|```|^#{1,6} |[⟦⟧]", re.I | re.M)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://|\bwww\.\w", re.I)
_SECRETS = re.compile(
    r"\b(?:sk|pk|ghp|xox[abp])[-_][A-Za-z0-9_-]{12,}|\bAKIA[0-9A-Z]{12,}|-----BEGIN [A-Z ]*KEY-----|"
    r"\b(?:password|passwd|api[_ ]?key|secret)\s*[:=]\s*\S+",
    re.I,
)
_PII = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]{2,}|\b(?:\d[ -]?){13,19}\b|\+\d[\d ()-]{8,}\d")
_QUOTED = re.compile(rf"[\"“‘']([^\"”’']{{{MAX_QUOTE + 1},}})[\"”’']")


_VALUE = re.compile(r"(?<!\w)(?:\"[^\"]{1,60}\"|“[^”]{1,60}”|'[^']{1,60}'|‘[^’]{1,60}’)(?!\w)")

_PLAIN_FROM = re.compile(r"^[^'\"/-]*\bfrom\s+[a-z_][a-z_0-9]*\s*(?:$|where\b|group\b|order\b)", re.I)
_WITH = re.compile(r"\bwith\b", re.I)


@dataclass(frozen=True)
class Admission:
    """What became of one edit: as it may be applied, or refused; `edit` is then what a person could still apply."""

    edit: Edit
    state: EvidenceState = "unverifiable"
    refusal: str | None = None


def text_refusal(text: str) -> str | None:
    """Why this text may not stand in the map, or None."""
    if len(text) > MAX_CHARS:
        return f"longer than {MAX_CHARS} characters"
    seen = unicodedata.normalize("NFKC", clean_text(text))
    if _ORDERS.search(seen):
        return "reads like an instruction, not like a fact about the data"
    if _MARKUP.search(seen) or _MARKUP.search(text):
        return "holds markup or prompt markers"
    if _ADDRESS.search(seen):
        return "holds a web address"
    if _SECRETS.search(seen):
        return "looks like a secret"
    if _PII.search(seen):
        return "holds what looks like personal data (e-mail, phone or card number)"
    if _QUOTED.search(seen):
        return f"quotes cell text longer than {MAX_QUOTE} characters"
    return None


def admit(current: ContextMap, edit: Edit, query: RunQuery, run: Trajectory, version: int = 1) -> Admission:
    """Whether an agent's edit may be applied. `run` is what it was learned from, `version` the dataset's."""
    if edit.op == "DELETE":
        return Admission(edit)
    edit = replace(edit, text=" ".join(edit.text.split()))
    refusal = text_refusal(edit.text) or _from_cells(edit.text, run) or _one_answer(edit.text, run)
    if refusal:
        return Admission(edit, refusal=refusal)
    state: EvidenceState = "unverifiable"
    edit, refusal = _mended(current, edit, query, version)
    if refusal:
        return Admission(edit, "broken", refusal)
    if edit.evidence is not None:
        if not reads_a_table(edit.evidence.sql):
            return Admission(edit, "broken", "its query reads no table, so it shows nothing of the data")
        found = check(edit.evidence, query)
        if found.detail:
            said = "its query fails" if found.rows is None else "its own query gives something else"
            return Admission(edit, found.state, f"{said}: {found.detail}")
        state = "holds"
    rows = edit.evidence.expect if edit.evidence else ()
    numbers = slotted(edit.text, rows, _known(edit, run))
    loose = [*numbers.loose, *_loose_quotes(edit.text, rows, _known(edit, run))]
    if loose:
        return Admission(edit, state, f"says {', '.join(dict.fromkeys(loose))}, which no query of its own shows")
    evidence = replace(edit.evidence, version=version) if edit.evidence else None
    return _beside_others(current, replace(edit, template=numbers.template, evidence=evidence), state, query)


def _mended(current: ContextMap, edit: Edit, query: RunQuery, version: int) -> tuple[Edit, str | None]:
    """A new text for an item that broke is shown by the item's own query, as that answers now; or why it is not."""
    item = current.item(edit.id)
    broke = item is not None and item.state == "broken" and item.evidence is not None
    if edit.op != "REPLACE" or edit.evidence is not None or not broke or item is None or item.evidence is None:
        return edit, None
    try:
        return replace(edit, evidence=gather(item.evidence.sql, query, version)), None
    except PeekError as failure:
        return edit, f"its own query fails, and no other one was given: {failure.what[:160]}"


def reads_a_table(sql: str) -> bool:
    """Whether a query looks at data at all; `SELECT 7` would prove any seven.

    >>> reads_a_table("SELECT 7"), reads_a_table("WITH x AS (SELECT 7 AS n) FROM x"), reads_a_table("FROM t")
    (False, False, True)
    """
    if _PLAIN_FROM.search(sql) and not _WITH.search(sql):
        return True  # seen without the cost of parsing
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return True  # the engine will say what is wrong with it
    ctes = {c.alias_or_name.lower() for c in tree.find_all(exp.CTE)}
    return any(t.name and t.name.lower() not in ctes for t in tree.find_all(exp.Table))


def _loose_quotes(text: str, rows: Sequence[Sequence[Any]], known: str) -> list[str]:
    """Quoted values of the text that stand in no cell, nor in `known`."""
    cells = [known.casefold(), *(str(cell).casefold() for row in rows for cell in row if cell is not None)]
    said = [match[0] for match in _VALUE.finditer(text)]
    return [value for value in said if not any(value[1:-1].strip().casefold() in cell for cell in cells)]


def _known(edit: Edit, run: Trajectory) -> str:
    """Text whose numbers are part of the claim: the query's own, and what the person said."""
    return f"{edit.evidence.sql if edit.evidence else ''}\n{run.question}"


def _from_cells(text: str, run: Trajectory) -> str | None:
    """Cell text is data of one row; a map holds what is true of many."""
    for record in run.queries:
        for row in record.table.rows if record.table else ():
            for cell in row:
                if (
                    isinstance(cell, str)
                    and len(cell) >= _CELL
                    and any(cell[at : at + _CELL] in text for at in range(0, len(cell) - _CELL + 1, 8))
                ):
                    return f"repeats {_CELL} or more characters of a cell"
    return None


def _one_answer(text: str, run: Trajectory) -> str | None:
    """The answer of this question helps nobody who asks another one."""
    answer = run.answer.text if run.answer else ""
    same = fuzz.token_sort_ratio(text, answer) >= NEAR or fold(text) == fold(answer)
    return "is the answer to one question" if answer and same else None


def _beside_others(current: ContextMap, edit: Edit, state: EvidenceState, query: RunQuery) -> Admission:
    """The edit held against what the map says already: the same is not said twice, and two claims can't both hold."""
    twin, contradicts = twin_of(current, edit)
    if twin is None:
        return Admission(edit, state)
    instead = replace(edit, op="REPLACE", id=twin.id)
    if not contradicts:
        same = fold(twin.text) == fold(edit.text)
        return Admission(edit if same else instead, state, f"{twin.id} already says this")
    stands = twin.evidence is not None and not check(twin.evidence, query, twin.template).detail
    if stands and state == "holds":
        return Admission(edit, state)  # two facts of one form, such as shares above two thresholds
    if stands:
        return Admission(instead, state, f"contradicts {twin.id}, whose own query still shows what it says")
    if state != "holds":
        return Admission(instead, state, f"contradicts {twin.id}, and no query shows which of them is right")
    if twin.untouchable:
        return Admission(instead, state, f"contradicts {twin.id}, which is {'frozen' if twin.frozen else 'locked'}")
    return Admission(instead if edit.op == "ADD" else edit, state)


def twin_of(current: ContextMap, edit: Edit) -> tuple[MapItem | None, bool]:
    """The item that speaks of the same thing, and whether it says something else of it."""
    others = [i for i in current.items if i.id != edit.id]
    for item in others:
        if item.section.value != edit.section and edit.op == "ADD":
            continue
        if fold(item.text) == fold(edit.text) or (
            fuzz.token_set_ratio(item.text, edit.text) >= NEAR and _digits(item.text) == _digits(edit.text)
        ):
            return item, False
    words = _words(edit.text)
    return next((i for i in others if _words(i.text) == words and _digits(i.text) != _digits(edit.text)), None), True


def _digits(text: str) -> Sequence[str]:
    return re.findall(r"\d+", text.replace(",", ""))


def _words(text: str) -> frozenset[str]:
    """The words of a claim without its numbers."""
    return frozenset(re.findall(r"[^\W\d]+", text.casefold()))

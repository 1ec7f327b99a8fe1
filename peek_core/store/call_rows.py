"""Call traces, the texts they speak of, and what calls have taken.

Owns: these rows. Refuses to know: what a trace means beyond the sums a day is limited by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, and_, case, delete, func, insert, select, update

from peek_core.errors import NotFound
from peek_core.store import schema as t
from peek_core.store.connected import Connected
from peek_core.values.call_trace import CallTrace
from peek_core.values.codec import dump, load

DAY_S = 86_400.0


class CallRows(Connected):
    """The part of the store that EXPLAIN reads."""

    def add_call(self, dataset: str, trace: CallTrace, texts: Mapping[str, str], reply: tuple[str, str] | None) -> None:
        """A call trace and the texts it speaks of, each text once per dataset. `reply` is (hash, text)."""
        now = self._clock()
        everything = dict(texts) | ({reply[0]: reply[1]} if reply else {})
        with self._write() as c:
            known = set(
                c.execute(
                    select(t.bodies.c.hash).where(t.bodies.c.dataset == dataset, t.bodies.c.hash.in_(everything))
                ).scalars()
            )
            new = [
                {"dataset": dataset, "hash": h, "at": now, "text": x} for h, x in everything.items() if h not in known
            ]
            # A text that is used again is kept from now on; once a day is often enough to say so.
            c.execute(
                update(t.bodies)
                .where(t.bodies.c.dataset == dataset, t.bodies.c.hash.in_(known), t.bodies.c.at < now - DAY_S)
                .values(at=now)
            )
            for row in new:
                c.execute(insert(t.bodies).prefix_with("OR IGNORE", dialect="sqlite").values(row))
            c.execute(
                insert(t.calls).values(
                    id=trace.id,
                    run=trace.run,
                    dataset=dataset,
                    n=trace.n,
                    at=trace.at,
                    trace=dump(trace),
                    reply=reply[0] if reply else None,
                    tokens=trace.taken,
                    usd=trace.analyze.cost.usd if trace.analyze and trace.analyze.cost else None,
                    source=trace.source,
                )
            )

    def add_text(self, dataset: str, hash: str, text: str) -> None:
        """Keep one text by its hash."""
        with self._write() as c:
            row = {"dataset": dataset, "hash": hash, "at": self._clock(), "text": text}
            c.execute(insert(t.bodies).prefix_with("OR IGNORE", dialect="sqlite").values(row))

    def stats(self, dataset: str) -> str | None:
        """The dataset's pipeline statistics as they were kept."""
        rows = self._rows(select(t.statistics.c.body).where(t.statistics.c.dataset == dataset))
        return str(rows[0].body) if rows else None

    def save_stats(self, dataset: str, body: str) -> None:
        """Keep a dataset's pipeline statistics; nothing where the dataset was forgotten meanwhile."""
        s = t.statistics
        with self._write() as c:
            if c.execute(select(t.datasets.c.id).where(t.datasets.c.id == dataset)).first() is None:
                return
            if c.execute(update(s).where(s.c.dataset == dataset).values(body=body)).rowcount == 0:
                c.execute(insert(s).values(dataset=dataset, body=body))

    def spent_by_run(self, dataset: str) -> tuple[Row[Any], ...]:
        """(run, source, requests, tokens, usd, unpriced) of all calls of a dataset; a failed one has no tokens and is not
        unpriced. Reads no traces."""
        c = t.calls.c
        sums = select(
            c.run,
            c.source,
            func.count().label("requests"),
            func.sum(c.tokens).label("tokens"),
            func.sum(c.usd).label("usd"),
            _unpriced(),
        )
        return tuple(self._rows(sums.where(c.dataset == dataset).group_by(c.run, c.source)))

    def unpriced_since(self, at: float, free: str) -> int:
        """Calls from a moment on that took tokens and have no known price, but those of runs the analyst `free` answered."""
        c, r = t.calls.c, t.runs.c
        asked = select(_unpriced()).join(t.runs, r.id == c.run).where(c.at >= at, r.analyst != free)
        return int(self._rows(asked)[0].unpriced or 0)

    def latest_priced(self, dataset: str) -> CallTrace | None:
        """The newest call of a dataset that has a price."""
        c = t.calls.c
        query = select(c.trace).where(c.dataset == dataset, c.usd.is_not(None)).order_by(c.at.desc()).limit(1)
        rows = self._rows(query)
        return load(CallTrace, rows[0].trace) if rows else None

    def latest_call(self, dataset: str, arm: str, source: str) -> CallTrace | None:
        """The newest call of an arm's runs from this source that was answered."""
        c, r = t.calls.c, t.runs.c
        query = select(c.trace).join(t.runs, r.id == c.run).where(c.dataset == dataset, r.arm == arm)
        rows = self._rows(query.where(c.source == source, c.tokens > 0).order_by(c.at.desc(), c.n.desc()).limit(1))
        return load(CallTrace, rows[0].trace) if rows else None

    def spent_since(self, at: float, but: str) -> dict[str, Any]:
        """Calls, tokens, dollars and seconds of all runs but one, from a moment on."""
        c, r = t.calls.c, t.runs.c
        sums = select(
            func.count().label("calls"),
            func.coalesce(func.sum(c.tokens), 0).label("tokens"),
            func.coalesce(func.sum(c.usd), 0.0).label("usd"),
        )
        used = self._rows(sums.where(c.at >= at, c.run != but))[0]
        ended = func.coalesce(r.ended, self._clock())
        taken = func.coalesce(func.sum(ended - r.created), 0.0).label("taken")
        wall = self._rows(select(taken).where(r.created >= at, r.id != but))[0].taken
        return {"model_calls": used.calls, "tokens": used.tokens, "usd": used.usd, "wall_s": wall}

    def calls(self, run: str) -> tuple[CallTrace, ...]:
        rows = self._rows(select(t.calls.c.trace).where(t.calls.c.run == run).order_by(t.calls.c.n))
        return tuple(load(CallTrace, r.trace) for r in rows)

    def call(self, id: str) -> tuple[CallTrace, str | None]:
        """A trace and the hash of its reply."""
        rows = self._rows(select(t.calls).where(t.calls.c.id == id))
        if not rows:
            raise NotFound(f"There is no call {id!r}")
        return load(CallTrace, rows[0].trace), rows[0].reply

    def texts(self, dataset: str, hashes: Sequence[str]) -> dict[str, str]:
        rows = self._rows(
            select(t.bodies.c.hash, t.bodies.c.text).where(t.bodies.c.dataset == dataset, t.bodies.c.hash.in_(hashes))
        )
        return {r.hash: r.text for r in rows}

    def drop_texts(self, before: float) -> int:
        """Retention: remove section texts older than a moment."""
        with self._write() as c:
            gone = int(c.execute(delete(t.bodies).where(t.bodies.c.at < before)).rowcount)
        self.wipe()
        return gone


def _unpriced() -> Any:
    c = t.calls.c
    return func.sum(case((and_(c.tokens > 0, c.usd.is_(None)), 1), else_=0)).label("unpriced")

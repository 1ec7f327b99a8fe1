"""One request as a strip over what it may take: tint is scope, solid was cached, hatched was sent fresh.

Owns: that drawing and its legend. Refuses to know: where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pages.parts.html import esc, swatches
from peek_core.context_pipe.explain import SectionRow
from peek_core.context_pipe.plan import THRESHOLDS

Said = Literal["read", "expected", "unsaid"]
"""What is known of the cached part: the endpoint told, its rules foretell, or nothing."""
LEGEND = {
    "read": (("", "solid: cached"), ("hatch", "hatched: sent fresh")),
    "expected": (("", "solid: should be cached"), ("hatch", "hatched: sent fresh")),
    "unsaid": (("unsaid", "pale: nothing is known of a cache"),),
}
SMALL = 0.25
"""Share of the limit below which a request is drawn a second time, enlarged."""
NEAR = 0.07
"""Labels nearer than this share of the width would touch."""


def strip(rows: Sequence[SectionRow], reserve: int, limit: int, said: Said) -> str:
    """The sections in the order sent, the reserve behind them, the thresholds of pressure over both."""
    used = sum(r.section.sent for r in rows)
    base = max(limit, used + reserve, 1)
    free = _box(reserve, base, "free", f"Reserve for the reply: {reserve:,} tokens")
    bounds = [(f".{100 * share:.0f}", "", share * limit / base) for share, _ in reversed(THRESHOLDS)]
    if base > limit:
        bounds.append(("limit", "limit", limit / base))
    label = f"{used:,} tokens, {_told(rows, said)}, and a reserve of {reserve:,} over a limit of {limit:,}"
    small = used + reserve <= SMALL * limit  # then names stand at the enlarged one
    return _drawn(
        rows, base, said, bounds, label, free, "" if small else _name("Reserve", reserve, base), named=not small
    )


def enlarged(rows: Sequence[SectionRow], reserve: int, limit: int, said: Said) -> str:
    """The request alone, where it fills so little of its limit that nothing can be told apart; else nothing."""
    used = sum(r.section.sent for r in rows)
    if not used or used + reserve > SMALL * limit:
        return ""
    cap = f'<div class="pk-cap" style="padding-top:10px">The request alone, {limit / used:,.0f} times as wide</div>'
    return cap + _drawn(rows, used, said, (), f"{used:,} tokens, {_told(rows, said)}")


def _drawn(
    rows: Sequence[SectionRow],
    base: int,
    said: Said,
    bounds: Sequence[tuple[str, str, float]],
    label: str,
    more: str = "",
    more_names: str = "",
    *,
    named: bool = True,
) -> str:
    """`bounds`: (label, class, place) of lines; `base`: tokens of the whole width."""
    used, hit = sum(r.section.sent for r in rows), _hit(rows)
    boxes = "".join(_boxes(r, base, said) for r in rows) + more
    names = "".join(_name(r.section.name, r.section.sent, base) for r in rows) + more_names if named else ""
    lines = "".join(_line(at, text, kind) for text, kind, at in bounds)
    missed = said != "unsaid" and hit < used
    if missed:
        lines += _line(hit / base, "first miss", "miss")
    high = " high" if missed and any(abs(hit / base - at) < NEAR for _, _, at in bounds) else ""
    bare = "" if lines else " bare"
    return (
        f'<div class="pk-strip{high}{bare}" role="img" aria-label="{esc(label)}"><div class="bar">{boxes}{lines}</div>'
        + (f'<div class="names">{names}</div></div>' if names else "</div>")
    )


def _hit(rows: Sequence[SectionRow]) -> float:
    return sum(r.section.sent * _share(r) for r in rows)


def _told(rows: Sequence[SectionRow], said: Said) -> str:
    hit = f"{_hit(rows):,.0f} of them"
    return {"read": f"{hit} cached", "expected": f"{hit} should be cached"}.get(said, "cache unknown")


def legend(said: Said) -> str:
    """What tints and patterns mean."""
    return (
        '<div class="pk-row pk-small pk-muted" style="padding-top:6px">'
        + swatches((("", "global"), ("soft", "session"), ("grey", "this turn")))
        + '<span class="pk-grow"></span>'
        + swatches((*LEGEND[said], ("free", "reserve for the reply")))
        + "</div>"
    )


def _share(r: SectionRow) -> float:
    """How much of a section was cached, as a share of it."""
    size = r.actual if r.actual is not None else float(r.section.sent)
    return 0.0 if r.cached is None or size <= 0 else min(1.0, r.cached / size)


def _boxes(r: SectionRow, base: int, said: Said) -> str:
    s = r.section
    if said == "unsaid":
        return _box(s.sent, base, f"{s.scope} unsaid", f"{s.name}: {s.sent:,} tokens")
    hit = s.sent * _share(r)
    cached = "cached" if said == "read" else "should be cached"
    kept = _box(hit, base, s.scope, f"{s.name}: {hit:,.0f} of {s.sent:,} tokens {cached}") if hit else ""
    fresh = s.sent - hit
    sent = (
        _box(fresh, base, f"{s.scope} fresh", f"{s.name}: {fresh:,.0f} of {s.sent:,} tokens sent fresh")
        if fresh
        else ""
    )
    return kept + sent


def _box(tokens: float, base: int, kind: str, hint: str) -> str:
    thin = " thin" if tokens < 0.006 * base else ""
    return f'<i class="{esc(kind)}{thin}" style="width:{100 * tokens / base:.3f}%" title="{esc(hint)}"></i>'


def _name(name: str, tokens: int, base: int) -> str:
    size = "tiny" if tokens < 0.025 * base else "slim" if tokens < 0.085 * base else ""
    return (
        f'<span class="{size}" style="width:{100 * tokens / base:.3f}%" title="{esc(name)}: {tokens:,} tokens">{esc(name)}'
        f"<br>{tokens:,}</span>"
    )


def _line(at: float, label: str, kind: str = "") -> str:
    side = ' class="start"' if at < 0.03 else ' class="end"' if at > 0.97 else ""
    return f'<b class="{kind}" style="left:{100 * at:.2f}%"><em{side}>{esc(label)}</em></b>'

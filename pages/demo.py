"""Demo: one question series side by side with and without the map, correctness before savings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import charts, state
from pages.parts.html import draw, esc, table, tag
from peek_core.comparison import Arms, Result
from peek_core.lab.series import MapUse, Played, map_use, paired, totals
from peek_core.samples import NAMES, SampleCorpus, sample

w = state.workspace()
c = state.comparisons()
corpus = sample(NAMES[0])
VERDICTS = {"right": "ok", "wrong": "bad", "no_answer": "line"}


def sample_dataset() -> str | None:
    return next((d.id for d in w.datasets() if d.options.get("sample") == corpus.name), None)


def controls(dataset: str | None, result: Result | None) -> None:
    playing = result is not None and result.state == "playing"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        count = st.segmented_control(
            "How many",
            ["first 12", "first 24", "all"],
            default="all",
            key="how-many",
            label_visibility="collapsed",
            required=True,
            disabled=playing,
        )
        if playing and result is not None:
            if st.button("Stop", key="stop-demo", icon=":material/stop_circle:"):
                c.stop(result.id)
                st.rerun()
        elif st.button("Play the series", type="primary", icon=":material/play_arrow:", key="play"):
            play(dataset, count or "all")
        who = result.analyst if result else w.endpoints.analyst()
        draw(
            tag(f"{who[:1].upper()}{who[1:]} is playing", "line") + f' <span class="pk-muted pk-small">'
            f"{len(corpus.questions)} questions on {esc(corpus.title)}, as of {esc(corpus.as_of)}; same definitions on both "
            "sides, accepted as the questions state them</span>",
            width="stretch",
        )


def play(dataset: str | None, count: str) -> None:
    if dataset is None:
        with st.spinner("Making the sample and reading it, about three seconds"):
            dataset = w.load_sample(corpus.name).id
    questions = corpus.questions if count == "all" else corpus.questions[: int(count.split()[1])]
    state.attempt(lambda: c.start(dataset, questions))
    st.rerun()


def summary(title: str, played: Sequence[Played], kind: str) -> str:
    t = totals(played)
    return (
        f'<div class="pk-row"><b>{esc(title)}</b>{kind}</div><div class="pk-eq" style="padding-top:2px">'
        f'<span><b>{t.right} of {t.asked}</b> <span class="pk-muted">right, {t.wrong} wrong, {t.no_answer} without answer'
        f'</span></span><span><b>{t.look_ups}</b> <span class="pk-muted">look-ups</span></span><span><b>{t.turns}</b> '
        f'<span class="pk-muted">turns</span></span><span><b>{t.tokens:,}</b> '
        '<span class="pk-muted">tokens (estimate)</span></span></div>'
    )


def rows(played: Sequence[Played], use: MapUse, with_items: bool) -> str:
    out = []
    for p in played:
        said = f"{tag(p.verdict.replace('_', ' '), VERDICTS[p.verdict])} {esc(p.answer[:110])}"
        again = not with_items and p.id in use.found_again
        cells = [
            esc(p.question),
            said,
            str(p.look_ups) + (" " + tag("found again", "warn") if again else ""),
            f"{p.tokens:,}",
        ]
        if with_items:
            used = " ".join(f'<span class="pk-id">{esc(i)}</span>' for i in p.items_used)
            missed = tag("missed", "warn") if p.id in use.missed else ""
            cells.append(f"{used} {missed}" if used or missed else '<span class="pk-muted">–</span>')
        out.append(cells)
    head = ["Question", "Answer", "Look-ups", "Tokens"] + (["Map item used"] if with_items else [])
    return table(head, out, num=frozenset({2, 3}))


def both_sides(dataset: str, result: Result, corpus: SampleCorpus) -> None:
    n = len(result.without)
    if n == 0:
        draw('<div class="pk-note">The first question is being worked on.</div>')
        return
    shown = (
        st.select_slider(
            "Questions so far",
            list(range(1, n + 1)),
            value=n,
            key=f"at-{result.id}-{n}",
            format_func=lambda k: f"Q{k}, map v{result.with_map[k - 1].map_version}",
        )
        if n > 1
        else 1
    )
    a, b = result.with_map[:shown], result.without[:shown]
    left, right = st.columns(2, gap="large")
    use = map_use(a, b)
    with left:
        draw(summary("Without the map", b, "") + rows(b, use, False))
    with right:
        draw(summary("With the map", a, " " + tag(f"v{a[-1].map_version}", "accent")) + rows(a, use, True))
    figures(a, b)
    verdict(a, b)
    map_then(dataset, result, a)


def figures(a: Sequence[Played], b: Sequence[Played]) -> None:
    names = [f"Q{i + 1}" for i in range(len(a))]

    def so_far(values: Sequence[int]) -> list[int]:
        return [sum(values[: i + 1]) for i in range(len(values))]

    kinds = (
        ("Right so far", [p.verdict == "right" for p in a], [p.verdict == "right" for p in b]),
        ("Look-ups so far", [p.look_ups for p in a], [p.look_ups for p in b]),
        ("Tokens so far", [p.tokens for p in a], [p.tokens for p in b]),
    )
    for cell, (title, x, y) in zip(st.columns(3, gap="large"), kinds, strict=True):
        with cell:
            draw(f'<div class="pk-cap">{esc(title)}</div>')
            charts.show(
                charts.two_lines(names, so_far(x), so_far(y), "with", "without"),
                f"fig-{title}",
                f"{title}, with and without the map",
            )


def verdict(a: Sequence[Played], b: Sequence[Played]) -> None:
    pair, use = paired(a, b), map_use(a, b)
    dearer = sum(x.tokens > y.tokens for x, y in zip(a, b, strict=True))
    draw(
        f'<div class="pk-note" style="max-width:none"><b>Question by question</b>: the map made {pair.better} answers right that '
        f"were not, and {pair.worse} the other way; {pair.same} came out the same. Map items were hit in "
        f"{len(use.hit)} questions and missed in {len(use.missed)} (something was looked up all the same); without the map, "
        f"{len(use.found_again)} had to find again what it held. <b>Where it did not pay</b>: {dearer} of {len(a)} "
        "questions took more tokens with it, since the map itself stands in every request.</div>"
    )


def map_then(dataset: str, result: Result, a: Sequence[Played]) -> None:
    current = w.map(dataset, Arms(result.id).with_map, a[-1].map_version or 0)
    with st.expander(
        f"The map as question {len(a)} found it: {len(current.items)} items, {len(current.active)} definitions"
    ):
        lines = [[f'<span class="pk-id">{esc(i.id)}</span>', esc(i.text)] for i in current.items]
        lines += [[f'<span class="pk-id">{esc(d.id)}</span>', esc(f"{d.name}: {d.rule}")] for d in current.active]
        draw(table(["", "Text"], lines) if lines else '<span class="pk-muted">Empty.</span>')


def follow(dataset: str, id: str, known: int) -> None:
    """While it plays: the page follows after each pair of answers."""
    now = c.result(dataset, id, corpus.questions)
    if len(now.without) != known or now.state != "playing":
        st.rerun()
    draw(f'<div class="pk-small pk-muted">Playing question {len(now.without) + 1} of {now.asked}.</div>')


dataset = sample_dataset()
id = c.latest(dataset) if dataset else None
result = c.result(dataset, id, corpus.questions) if dataset and id else None
controls(dataset, result)
if result is None or dataset is None:
    draw(
        '<div class="pk-note">One click asks the sample’s questions twice, with and without the map, and lays the answers '
        "beside each other: right or wrong first, then look-ups and tokens.</div>"
    )
else:
    if result.state == "playing":
        st.fragment(follow, run_every=0.5, key="follow")(dataset, result.id, len(result.without))
    elif result.state != "done":
        draw(
            f'<div class="pk-note">{tag(result.state[:60], "warn")} after {len(result.without)} of {result.asked} questions.</div>'
        )
    both_sides(dataset, result, corpus)

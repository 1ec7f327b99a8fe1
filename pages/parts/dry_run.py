"""What a question would send first, before anybody sends it: planned, bound and decided, then left there.

Owns: the dialog. Refuses to know: how a request is planned, and how it is drawn (request.py).
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.parts import definitions, request, state
from pages.parts.explain_request import BUILTIN, COUNTS_NOTHING
from pages.parts.html import draw, esc, facts, tag
from pages.parts.request_strip import Said
from peek_core.context_pipe.alerts import first_miss
from peek_core.context_pipe.assemble import Prepared
from peek_core.context_pipe.catalog import CONFIGURATIONS
from peek_core.context_pipe.explain import DASH, expected, explain_text, money
from peek_core.errors import PeekError

Ask = Callable[[str, str], None]
"""A question and how its requests are assembled."""


def button(dataset: str, ask: Ask) -> None:
    """Quiet, beside the question box: what is typed there can't be read before it is sent, so the dialog has its own."""
    if st.button(
        "What would it send?",
        key="dry-run",
        type="tertiary",
        icon=":material/frame_inspect:",
        help="Plans the first request of a question and shows it. Nothing is sent.",
    ):
        dialog(dataset, ask)


@st.dialog("What would this question send?", width=1120)
def dialog(dataset: str, ask: Ask) -> None:
    """The last question stands there to begin with; Enter plans it again."""
    last = state.workspace().explaining.heads(dataset, "peek", 1)
    text = st.text_input(
        "Question",
        value=last[-1].question if last else "",
        key="dry-question",
        placeholder="Type a question and press Enter",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        how = st.segmented_control(
            "Assembled as",
            list(CONFIGURATIONS),
            default=state.workspace().settings.configuration,
            key="dry-configuration",
            required=True,
            help="default: edits pay for the cache they break; paper: as published; flat: no transform at all.",
        )
        asked = st.button("Ask it", key="dry-ask", disabled=not (text or "").strip())
    if asked and text:
        ask(text, str(how))
    if not text or not text.strip():
        draw('<div class="pk-note">Its first request will stand here. Nothing is sent.</div>')
        return
    try:
        with st.spinner("Planning the request"):
            made = state.workspace().dry_run(
                dataset, text, without=definitions.left_out(dataset), configuration=str(how)
            )
    except PeekError as failure:  # also where nobody has chosen yet what may be shared: asking will ask
        draw(f'<div class="pk-note" role="status">{tag("not planned", "warn")} {esc(failure.sentence())}</div>')
        return
    planned(made)


def planned(made: Prepared) -> None:
    """The request as it stands, with its texts."""
    e, shown = made.explain, expected(made.explain)
    said: Said = "unsaid" if e.strategy == "none" else "expected"
    usd = [r.usd for r in shown]
    input_cost = None if not usd or any(v is None for v in usd) else sum(v for v in usd if v is not None)
    draw(
        f'<div class="pk-row" style="padding-bottom:6px" role="status">{tag("nothing was sent", "ok")}<span class="pk-muted">'
        f"{len(made.wire):,} bytes would go to {esc(e.model)}; later requests of the question add what its queries give."
        "</span></div>"
        + facts(
            [
                (f"{e.tokens + e.reserve:,}", f"of {e.limit:,} tokens with the reserve"),
                request.pressed(e),
                (DASH if said == "unsaid" else f"{e.predicted_cached:,}", "expected from the cache"),
                (
                    money(input_cost),
                    f"for the input (estimate, prices of {e.rates.date or 'unknown date'})"
                    if e.rates
                    else "cost, no prices set",
                ),
            ]
        )
    )
    if e.provider == BUILTIN:
        draw(f'<div class="pk-note">{esc(COUNTS_NOTHING)}</div>')
    request.picture(e, shown, said)
    request.sections(e, shown, said, first_miss(e, e.predicted_cached) if said == "expected" else None)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        request.decisions(e)
        request.shadow(e, "Neither was sent, so nobody knows what either would answer.")
    with right:
        request.room(e)
    with st.expander("What would be sent, section by section"):
        request.texts(e, {p.section.hash: p.section.text for p in made.placed})
    with st.expander("EXPLAIN as text"):
        st.code(explain_text(e), language=None)

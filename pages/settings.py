"""Settings: who answers. The key stays in this process and is gone when the server stops."""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from pages.parts.html import draw, esc
from peek_core.errors import PeekError
from peek_core.settings import EndpointSettings

w = state.workspace()
now = w.endpoints.current

left, right = st.columns([0.56, 0.44], gap="large")
with left:
    draw('<div class="pk-sec"><span>Who answers</span><span></span></div>')
    draw(
        f'<div class="pk-note">Now: <b>{esc(w.endpoints.analyst())}</b>'
        + (
            f", {esc(now.base_url)}"
            if now
            else ": plain counting questions in English, on this machine, abstains rather than guesses"
        )
        + ".</div>"
    )
    url = st.text_input(
        "Base URL of an OpenAI-compatible endpoint",
        value=now.base_url if now else "",
        key="base-url",
        placeholder="https://…/v1",
    )
    model = st.text_input("Model", value=now.model if now else "", key="model")
    key = st.text_input(
        "Key",
        type="password",
        key="api-key",
        autocomplete="off",
        placeholder="set" if now and now.key else "",
        help="Kept in this process, never on disk.",
    )
    timeout = st.number_input("Read timeout, seconds", 5, 900, int(now.read_timeout_s) if now else 120, key="timeout")
    budget = st.number_input(
        "Prompt budget, tokens",
        4_000,
        1_000_000,
        now.budget if now else 64_000,
        step=1_000,
        key="budget",
        help="Pressure is measured against it; smaller keeps requests quick and cheap.",
    )
    window = st.number_input(
        "Window of the model, tokens",
        2_000,
        4_000_000,
        now.window if now else None,
        step=1_000,
        key="window",
        placeholder="unknown: the budget counts",
        help="What the endpoint takes at most, reply included. A small server on this machine may take as little as 4,096.",
    )
    wanted = EndpointSettings(
        url.strip(),
        model.strip(),
        key.strip() or (now.key if now else ""),
        float(timeout),
        window=int(window) if window else None,
        budget=int(budget),
        cache=now.cache if now else "",
    )
    complete = bool(url.strip() and model.strip())
    with st.container(horizontal=True, gap="small"):
        if st.button("Use this endpoint", type="primary", key="use", disabled=not complete):
            if state.attempt(lambda: w.endpoints.use(wanted), "Questions go to the endpoint from now on"):
                st.session_state.pop("_said", None)
            st.rerun()
        if st.button("Test connection", key="test", disabled=not complete):
            try:
                st.session_state["_said"] = w.endpoints.test(wanted)
            except PeekError as failure:
                st.session_state["_error"] = failure.sentence()
                st.session_state.pop("_said", None)
            st.rerun()
        if now and st.button("Use the built-in analyst", key="builtin"):
            w.endpoints.use(None)
            st.rerun()
    said = st.session_state.get("_said")
    if said:
        draw(f'<div class="pk-note">{esc(said)}</div>')
with right:
    draw(
        '<div class="pk-sec"><span>What leaves this machine</span><span></span></div>'
        '<div class="pk-note">With the built-in analyst: nothing. With an endpoint: what you allow per dataset, asked at '
        "the first question. Every request can be read word for word on the Explain page.</div>"
        '<div class="pk-sec" style="padding-top:14px"><span>Where things are kept</span><span></span></div>'
        f'<div class="pk-note pk-mono">{esc(w.settings.data_dir)}</div>'
        '<div class="pk-note">Texts of requests and replies are kept '
        f"{w.settings.keep_text_days} days. Deleting a dataset on the Data page erases everything of it.</div>"
    )

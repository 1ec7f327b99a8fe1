"""Which pages there are, and going from one to another.

Owns: page files, titles, links. Refuses to know: what pages show.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import streamlit as st
from streamlit.navigation.page import StreamlitPage

HERE = Path(__file__).resolve().parents[1]
TITLES = {
    "data": "Data",
    "ask": "Ask",
    "context_map": "Context map",
    "explain": "Explain",
    "versions": "Versions",
    "load_report": "Load report",
    "demo": "Demo",
    "settings": "Settings",
}
TAB = "tab"
"""URL parameter: the open tab of the Context map page, or of the Explain page."""
TABS = ("Items", "Definitions", "Review", "History", "Graveyard", "Refused", "Coverage", "As sent")
EXPLAIN_TABS = ("Request", "Run", "Dataset")


def page(name: str) -> StreamlitPage:
    """The page of that name; the first one is where the app opens."""
    return st.Page(HERE / f"{name}.py", title=TITLES[name], default=name == "data")


def go(name: str, **params: str) -> NoReturn:
    """Leave for another page, with what the address must carry."""
    st.switch_page(page(name), query_params=params)


def no_dataset() -> None:
    """What a page shows that needs a dataset when there is none."""
    from pages.parts.html import draw

    draw('<div class="pk-note">There is no dataset yet.</div>')
    st.page_link(page("data"), label="Bring a file or open the sample", icon=":material/arrow_forward:")

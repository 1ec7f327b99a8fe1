"""The server: `streamlit run app.py`. Every route answers with a policy that keeps pages from loading anything remote."""

import streamlit as st
from starlette.middleware import Middleware

from pages.parts.headers import SecurityHeaders
from pages.parts.start import lifespan

# A literal call: Streamlit finds the app by reading this file, and the frame must not lie in a pages folder beside it.
app = st.App("pages/parts/frame.py", lifespan=lifespan, middleware=[Middleware(SecurityHeaders)])

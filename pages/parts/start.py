"""What the server does before its first page: open the workspace, so that nobody waits for imports.

Owns: the lifespan of the server. Refuses to know: pages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from pages.parts import state
from peek_core.errors import PeekError


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Open at start, close at the end. A data directory that can't be opened is said by the first page."""
    with contextlib.suppress(PeekError):
        await asyncio.to_thread(state.workspace)
    yield
    with contextlib.suppress(PeekError):
        await asyncio.to_thread(lambda: state.workspace().close())

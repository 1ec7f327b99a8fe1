"""A pipe over a scripted provider, with everything it needs in memory."""

from __future__ import annotations

import pytest

from tests.context_pipe.kit import Kit


@pytest.fixture
def kit() -> type[Kit]:
    return Kit

"""Texts without their literals: what may go where values may not.

Owns: what counts as a literal. Refuses to know who asks. Quoted values, numbers and dates are taken out; a value that
stands in a sentence without quotes can't be told from a word, so this is a reduction and not a proof.
"""

from __future__ import annotations

import re

GONE = "…"
_QUOTED = re.compile(r"(?<!\w)(?:\"[^\"]*\"|“[^”]*”|'[^']*'|‘[^’]*’)(?!\w)")
_NUMBER = re.compile(r"(?<![\w#])[-+−]?\d[\d.,:/T -]*\d(?!\w)|(?<![\w#])[-+−]?\d(?!\w)")


def without_literals(text: str) -> str:
    """The text with every quoted value, number and date as `…`.

    >>> without_literals("region 'D-A-CH' is DACH in 2,358 of 50,000 rows since 2026-01-01; plan P1 is Free")
    'region … is DACH in … of … rows since …; plan P1 is Free'
    """
    return _NUMBER.sub(GONE, _QUOTED.sub(GONE, text))

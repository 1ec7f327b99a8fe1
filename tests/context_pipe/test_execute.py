"""Execute: what was decided keeps the laws and is what would be sent, or nothing is sent."""

from __future__ import annotations

import pytest

from peek_core.context_pipe.bind import Binder
from peek_core.context_pipe.execute import verify, verify_wire
from peek_core.context_pipe.rules.working import Placed
from peek_core.errors import Broken
from peek_core.providers.builtin.provider import BuiltinAnalyst
from peek_core.providers.chat_completions import ChatCompletions
from peek_core.providers.loop import LoopThread
from peek_core.providers.scripted import Scripted
from peek_core.settings import EndpointSettings
from peek_core.values.sources import Kind, Priority
from tests.context_pipe.kit import QUESTION, RULES, quarter, record, steps

TWO = record("identity", Kind.IDENTITY, 'who "I" am\n\u2028 🙂', role="system")
ALL = [RULES, TWO, QUESTION, *steps(2, 8)]
PROVIDERS = [Scripted([]), ChatCompletions(EndpointSettings("http://127.0.0.1:9/v1", "m"), LoopThread()),
             ChatCompletions(EndpointSettings("http://127.0.0.1:9/v1", "m", cache="anthropic"), LoopThread()), BuiltinAnalyst()]  # fmt: skip


def placed(records) -> list[Placed]:
    binder = Binder(quarter)
    return [Placed(r, binder.section(r)) for r in records]


def test_what_keeps_the_laws_passes() -> None:
    verify(ALL, placed(ALL))
    verify(ALL, placed([RULES, TWO, *steps(2, 8), QUESTION]))
    verify(ALL, placed([RULES, TWO, QUESTION]))  # rounds may go
    verify([], [])


@pytest.mark.parametrize("name", ["rules", "identity", "question"])
def test_what_may_never_go_must_be_there(name: str) -> None:
    with pytest.raises(Broken, match=f"Prompt section {name} may never be dropped, but was"):
        verify(ALL, placed([r for r in ALL if r.name != name]))


def test_anchors_keep_their_order() -> None:
    with pytest.raises(Broken, match="identity, rules are out of order"):
        verify(ALL, placed([TWO, RULES, *ALL[2:]]))


@pytest.mark.parametrize("order", [[3, 5, 4, 6], [3, 2, 4], [4, 5, 6, 3]])
def test_a_pair_is_not_torn(order: list[int]) -> None:
    kept = [ALL[n] for n in order]
    with pytest.raises(Broken, match="step-1 were torn apart"):
        verify([r for r in kept if r.priority is not Priority.NEVER], placed(kept))


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda p: f"{p.name} {p.capabilities.cache.marker}")
def test_what_each_provider_encodes_is_what_was_decided(provider) -> None:
    given = placed(ALL)
    wire = provider.encode([p.section for p in given], None)
    structured = not provider.capabilities.language_model
    verify_wire(wire, given, structured=structured)
    other = placed([RULES, TWO, QUESTION, *steps(2, 9)])
    if not structured:
        with pytest.raises(Broken, match="Prompt section observation 1 is not in the request as it was decided"):
            verify_wire(wire, other, structured=False)


def test_a_dropped_a_changed_and_a_swapped_section_are_each_named() -> None:
    given = placed([record(n, Kind.HISTORY, f"text of {n}") for n in "abc"])
    encode = Scripted([]).encode
    whole = [p.section for p in given]
    for sections, name in (
        ([whole[0], whole[2]], "b"),
        (whole[:2], "c"),
        ([whole[0], whole[2], whole[1]], "c"),
        ([], "a"),
    ):
        with pytest.raises(Broken, match=f"Prompt section {name} is not in the request"):
            verify_wire(encode(sections, None), given, structured=False)
    with pytest.raises(Broken, match="Prompt section b"):
        verify_wire(encode(whole, None).replace(b"text of b", b"text of B"), given, structured=False)

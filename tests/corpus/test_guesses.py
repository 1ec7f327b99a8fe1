"""Guesses about text: its languages, and whether it looks personal."""

from __future__ import annotations

import pytest

from peek_core.corpus.guesses import languages, personal

GERMAN = [
    "Die App stürzt beim Öffnen immer ab",
    "Bitte mehr Funktionen für große Projekte",
    "Alles funktioniert sehr gut",
]
ENGLISH = ["The app crashes when I open a project", "Please add a dark mode to the editor", "Works well for our team"]


def test_languages_by_share_of_the_texts_that_tell_one() -> None:
    found = languages(ENGLISH * 4 + GERMAN * 2 + ["ok", "👍", ""])
    assert found == (("English", 0.67), ("German", 0.33))


def test_too_few_texts_tell_nothing() -> None:
    assert languages(["ok", "great!!", *ENGLISH]) == ()


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("contact", ["ann@example.org", "bob.b@example.co.uk", "n/a"], "e-mail addresses"),
        ("phone", ["+49 30 1234567", "0049 171 2345678", "(555) 123-4567"], "phone numbers"),
        ("iban", ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"], "account numbers"),
        ("card", ["4111 1111 1111 1111", "5500-0000-0000-0004"], "card numbers"),
        ("ip", ["192.168.0.1", "10.0.0.12"], "network addresses"),
        ("customer_name", ["Ann Smith", "Bob van Dyk", "Cleo Jones"], "names of people"),
        ("product_name", ["Widget", "Gadget 2", "Gizmo"], ""),
        ("order_no", ["4111111111111112", "4111111111111113"], ""),
        ("created", ["2024-01-01", "2024-02-01"], ""),
        ("region", ["North", "South"], ""),
        ("empty", ["", " "], ""),
    ],
)
def test_personal_data_by_its_shape(name: str, values: list[str], kind: str) -> None:
    assert personal(name, values) == kind

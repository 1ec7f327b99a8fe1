"""The published table: the rates of the notes at their time, dates, peaks, cliffs, and hosts that are nobody's."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime
from importlib.metadata import version

import pytest

from peek_core.ports import PriceBook
from peek_core.prices import PriceTable
from peek_core.prices.published import FLAGSHIPS, RELEASED, provider_of
from peek_core.values.messages import Usage

OPENAI, ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com/v1"
GOOGLE, DEEPSEEK = "https://generativelanguage.googleapis.com/v1beta/openai/", "https://api.deepseek.com"


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NOTED = at("2026-11-30T20:00")


@pytest.fixture
def book() -> PriceBook:
    return PriceTable()


@pytest.mark.parametrize(
    ("host", "model", "entry", "output", "cached", "r", "w", "cliff"),
    [
        (OPENAI, "gpt-6-astra", 10, 50, 1.00, 0.10, 1.25, 272_000),
        (OPENAI, "gpt-6.1-sol", 2, 10, 0.10, 0.05, 1.25, 272_000),
        (OPENAI, "gpt-6.1-terra", 1, 5, 0.05, 0.05, 1.25, 272_000),
        (OPENAI, "gpt-6-luna", 0.10, 0.50, 0.01, 0.10, 1.25, 272_000),
        (OPENAI, "gpt-5.6-sol", 4, 20, 0.40, 0.10, 1.25, 272_000),
        (OPENAI, "gpt-5.5", 5, 30, 0.50, 0.10, 1, 272_000),
        (OPENAI, "gpt-5.4-mini", 0.75, 4.50, 0.075, 0.10, 1, None),
        (OPENAI, "gpt-4.1", 2, 8, 0.50, 0.25, 1, None),
        (ANTHROPIC, "claude-fable-5-2", 8, 40, 0.20, 0.025, 1.25, None),
        (ANTHROPIC, "claude-opus-5-5", 4, 20, 0.20, 0.05, 1.25, None),
        (ANTHROPIC, "claude-sonnet-5-5", 2, 10, 0.10, 0.05, 1.25, None),
        (ANTHROPIC, "claude-haiku-5-5", 0.10, 0.50, 0.01, 0.10, 1.25, 100_000),
        (GOOGLE, "gemini-4-argon", 2, 10, 0.10, 0.05, 1, None),
        (GOOGLE, "gemini-3.8-flash", 0.75, 3.75, 0.075, 0.10, 1, None),
        (GOOGLE, "gemini-3.1-pro-preview", 2, 12, 0.20, 0.10, 1, 200_000),
        (DEEPSEEK, "deepseek-flash", 0.15, 0.60, 0.003, 0.02, 1, None),
        (DEEPSEEK, "deepseek-v4-pro", 0.66, 1.98, 0.022, 0.0333, 1, None),
    ],
)
def test_the_table_of_the_notes(
    book: PriceBook, host: str, model: str, entry: float, output: float, cached: float, r: float, w: float, cliff: int
) -> None:
    found = book.rates(model, host, NOTED)
    assert found is not None
    assert (found.input, found.output, found.cached, found.cliff) == (entry, output, cached, cliff)
    assert (found.r, found.w) == (pytest.approx(r, abs=1e-4), pytest.approx(w))
    assert (found.source, found.date) == ("genai-prices 0.2.3", "2026-11-10")


def test_the_installed_table_is_dated() -> None:
    assert version("genai-prices") in RELEASED


MILLION_READ = Usage(input=1_000_000, cached=1_000_000, output=0)


@pytest.mark.parametrize(
    ("host", "model", "when", "usage", "usd"),
    [
        (GOOGLE, "gemini-4-argon", "2026-11-30T23:59", Usage(input=1_000_000, cached=0, output=100_000), 3.0),
        (GOOGLE, "gemini-4-argon", "2026-12-01T00:00", Usage(input=1_000_000, cached=0, output=100_000), 6.0),
        (GOOGLE, "gemini-3.8-flash", "2026-12-31T23:59", Usage(input=1_000_000, cached=0, output=0), 0.75),
        (GOOGLE, "gemini-3.8-flash", "2027-01-01T00:00", Usage(input=1_000_000, cached=0, output=0), 1.50),
        (DEEPSEEK, "deepseek-flash", "2026-11-30T00:59", MILLION_READ, 0.003),
        (DEEPSEEK, "deepseek-flash", "2026-11-30T01:00", MILLION_READ, 0.006),
        (DEEPSEEK, "deepseek-flash", "2026-11-30T04:00", MILLION_READ, 0.003),
        (DEEPSEEK, "deepseek-flash", "2026-11-30T06:00", MILLION_READ, 0.006),
        (DEEPSEEK, "deepseek-flash", "2026-11-30T10:00", MILLION_READ, 0.003),
        (ANTHROPIC, "claude-haiku-5-5", "2026-11-30T20:00", Usage(input=100_000, cached=0, output=1000), 0.0105),
        (ANTHROPIC, "claude-haiku-5-5", "2026-11-30T20:00", Usage(input=100_001, cached=0, output=1000), 0.0525005),
        # 100k read, 20k written, 10k fresh, 1k out: 0.010 + 0.050 + 0.020 + 0.010
        (OPENAI, "gpt-6.1-sol", "2026-11-30T20:00", Usage(130_000, 100_000, 20_000, 1000), 0.09),
    ],
)
def test_costs_follow_date_hour_and_length(
    book: PriceBook, host: str, model: str, when: str, usage: Usage, usd: float
) -> None:
    found = book.cost(model, host, usage, at(when))
    assert found is not None and found.usd == pytest.approx(usd) and not found.at_most


def test_rates_follow_the_date_too(book: PriceBook) -> None:
    before, after = (book.rates("gemini-4-argon", GOOGLE, at(day)) for day in ("2026-11-30", "2026-12-01"))
    assert before and after and (after.input, after.output, after.cached) == (4, 20, 0.2) and before.input == 2


def test_a_prompt_over_the_cliff_costs_nine_times_one_below_it(book: PriceBook) -> None:
    """The notes: claude-haiku-5-5, 110k against 60k, each read from the cache by 95 %."""
    over, below = (
        book.cost("claude-haiku-5-5", ANTHROPIC, Usage(n, int(0.95 * n), 0, 0), NOTED) for n in (110_000, 60_000)
    )
    assert over and below and over.usd / below.usd == pytest.approx(9.2, abs=0.1)


def test_an_endpoint_that_reports_no_cache_is_billed_as_if_it_had_none_and_says_so(book: PriceBook) -> None:
    whole = book.cost("gpt-6.1-sol", OPENAI, Usage(input=100_000, output=0), NOTED)
    half = book.cost("gpt-6.1-sol", OPENAI, Usage(input=100_000, cached=50_000, output=0), NOTED)
    assert whole and half and whole.usd == pytest.approx(0.2) and whole.at_most
    assert half.usd < whole.usd and not half.at_most


def test_a_missing_cached_rate_is_unknown_and_never_silently_full_price(book: PriceBook) -> None:
    host, model = "https://api.mistral.ai/v1", "mistral-large-latest"
    found = book.rates(model, host, NOTED)
    assert found and found.cached is None and found.r is None
    read = book.cost(model, host, Usage(input=1_000_000, cached=500_000, output=0), NOTED)
    fresh = book.cost(model, host, Usage(input=1_000_000, cached=0, output=0), NOTED)
    assert read and fresh and read.usd == fresh.usd and read.at_most and not fresh.at_most


@pytest.mark.parametrize(
    "usage",
    [Usage(), Usage(input=10), Usage(output=10), Usage(input=10, cached=11, output=1), Usage(input=-1, output=1)],
)
def test_unknown_or_contradicting_counts_have_no_cost(book: PriceBook, usage: Usage) -> None:
    assert book.cost("gpt-6.1-sol", OPENAI, usage, NOTED) is None


def test_a_model_the_table_lacks_has_no_price(book: PriceBook) -> None:
    assert book.rates("gpt-6.2-sol", OPENAI, NOTED) is None
    assert book.cost("gpt-6.2-sol", OPENAI, Usage(input=1, output=1), NOTED) is None
    assert book.rates("", OPENAI, NOTED) is None


@pytest.mark.parametrize(
    ("base_url", "provider"),
    [
        ("https://API.OpenAI.com:443/v1/", "openai"),
        ("https://api.moonshot.cn/v1", "moonshotai"),
        ("https://my.openai.azure.com/openai/v1", "azure"),
        ("https://router.huggingface.co/groq/v1", "huggingface_groq"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("http://localhost:11434/v1", None),
        ("https://127.0.0.1/v1", None),
        ("https://llm.corp.example/v1", None),
        ("http://api.openai.com/v1", None),
        ("https://api.openai.com:8443/v1", None),
        ("https://api.openai.com.evil.example/v1", None),
        ("https://api.openai.com@evil.example/v1", None),
        ("https://evil.example/x.googleapis.com/v1", None),
        ("https://api.moonshot.evil.example/v1", None),
        ("https://somebody--vllm.modal.run/v1", None),
        ("https://gateway.azure-api.net/v1", None),
        ("https://[::1", None),
        ("", None),
    ],
)
def test_only_a_providers_own_host_is_that_provider(base_url: str, provider: str | None) -> None:
    assert provider_of(base_url) == provider


def test_a_proxy_with_a_known_models_name_has_no_price(book: PriceBook) -> None:
    assert book.rates("gpt-6.1-sol", "https://llm.corp.example/v1", NOTED) is None
    assert book.cost("gpt-6.1-sol", "http://localhost:4000/v1", Usage(input=1, output=1), NOTED) is None


def test_azure_and_openrouter_price_what_they_resell(book: PriceBook) -> None:
    for model, host in (
        ("gpt-6.1-sol", "https://my.openai.azure.com/openai/v1"),
        ("openai/gpt-6.1-sol", "https://openrouter.ai/api/v1"),
    ):
        found = book.rates(model, host, NOTED)
        assert found and found.input == 2


def test_every_flagship_is_in_the_table(book: PriceBook) -> None:
    assert [name for name, _ in book.known(NOTED)] == [model for _, model in FLAGSHIPS]
    assert all(rates.r is not None for _, rates in book.known(NOTED))


def test_no_network_and_no_updater(book: PriceBook, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object) -> None:
        raise AssertionError("prices reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    before = threading.active_count()
    assert book.rates("gpt-6.1-sol", OPENAI, NOTED) is not None
    assert threading.active_count() == before
    from genai_prices.data_snapshot import get_snapshot

    assert not get_snapshot().from_auto_update

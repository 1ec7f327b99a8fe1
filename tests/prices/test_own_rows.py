"""The own prices file: it wins over all, and a broken one is refused by name of row and key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from peek_core.errors import UnreadableFile
from peek_core.prices import PriceTable
from peek_core.values.messages import Usage

ROW = (
    '[[price]]\nbase_url = "http://127.0.0.1:8080/v1"\nmodel = "Qwen3-8B"\ndate = 2026-11-30\ninput = 1.0\noutput = 4\n'
)
LOCAL = "http://127.0.0.1:8080/v1"


def table(folder: Path, text: str) -> PriceTable:
    path = folder / "prices.toml"
    path.write_bytes(text.encode("utf-8"))
    return PriceTable(path)


def test_no_file_means_no_own_rows(tmp_path: Path) -> None:
    assert PriceTable(tmp_path / "prices.toml").rates("qwen3-8b", LOCAL, 0) is None


def test_an_own_row_prices_an_endpoint_no_table_knows(tmp_path: Path) -> None:
    book = table(tmp_path, "\ufeff" + ROW)
    found = book.rates("qwen3-8b", "http://127.0.0.1:8080/v1/", 0)
    assert found is not None
    assert (found.input, found.output, found.cached, found.write, found.cliff) == (1.0, 4.0, None, None, None)
    assert (found.source, found.date) == ("own prices file", "2026-11-30")
    assert book.rates("qwen3-8b", "http://127.0.0.1:9090/v1", 0) is None
    assert book.rates("another", LOCAL, 0) is None


def test_an_own_row_wins_over_the_published_table(tmp_path: Path) -> None:
    host = "https://api.openai.com/v1"
    text = ROW.replace(LOCAL, host).replace("Qwen3-8B", "gpt-6.1-sol") + "cached = 0.5\nwrite = 1.5\n"
    book = table(tmp_path, text)
    found = book.rates("gpt-6.1-sol", host, 0)
    assert found is not None and (found.input, found.r, found.w, found.o) == (1.0, 0.5, 1.5, 4.0)
    cost = book.cost("gpt-6.1-sol", host, Usage(10_000, 6_000, 1_000, 500), 0)
    assert cost is not None and cost.usd == pytest.approx((3_000 + 3_000 + 1_500 + 2_000) / 1e6) and not cost.at_most
    assert dict(book.known(1_796_000_000.0))["gpt-6.1-sol"].input == 2  # the list is of published prices


def test_what_may_have_been_read_from_a_cache_is_at_most(tmp_path: Path) -> None:
    book = table(tmp_path, ROW)
    unsaid = book.cost("qwen3-8b", LOCAL, Usage(input=1_000_000, output=0), 0)
    unpriced = book.cost("qwen3-8b", LOCAL, Usage(input=1_000_000, cached=5, output=0), 0)
    none = book.cost("qwen3-8b", LOCAL, Usage(input=1_000_000, cached=0, output=0), 0)
    assert unsaid and unpriced and none and {unsaid.usd, unpriced.usd, none.usd} == {1.0}
    assert (unsaid.at_most, unpriced.at_most, none.at_most) == (True, True, False)


@pytest.mark.parametrize("usage", [Usage(), Usage(input=5), Usage(output=5), Usage(input=5, cached=6, output=1), Usage(5, 0, 0, -1)])  # fmt: skip
def test_unknown_or_contradicting_counts_have_no_cost(tmp_path: Path, usage: Usage) -> None:
    assert table(tmp_path, ROW).cost("qwen3-8b", LOCAL, usage, 0) is None


def test_above_a_cliff_the_rates_of_above_hold_for_the_whole_call_and_without_them_nothing_is_known(
    tmp_path: Path,
) -> None:
    below, over = Usage(100_000, 0, 0, 0), Usage(100_001, 0, 0, 0)
    bare = table(tmp_path, ROW + "cliff = 100000\n")
    assert bare.cost("qwen3-8b", LOCAL, below, 0) and bare.cost("qwen3-8b", LOCAL, over, 0) is None
    whole = table(tmp_path, ROW + "cliff = 100_000\nabove = {input = 5.0, output = 20}\n")
    cost = whole.cost("qwen3-8b", LOCAL, over, 0)
    assert cost is not None and cost.usd == pytest.approx(0.500005)
    found = whole.rates("qwen3-8b", LOCAL, 0)
    assert found is not None and (found.input, found.cliff) == (1.0, 100_000)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[price]\n", "line 1"),
        ("[price]\nmodel = 1\n", "key price"),
        ("prices = []\n", "key prices"),
        (ROW + "currency = 'EUR'\n", "row 1, key currency"),
        (ROW + ROW, "row 2, key model"),
        (ROW.replace("input = 1.0", ""), "row 1, key input"),
        (ROW.replace("input = 1.0", "input = -1"), "row 1, key input"),
        (ROW.replace("input = 1.0", "input = true"), "row 1, key input"),
        (ROW.replace("input = 1.0", "input = nan"), "row 1, key input"),
        (ROW.replace("input = 1.0", "input = '1'"), "row 1, key input"),
        (ROW + "cached = inf\n", "row 1, key cached"),
        (ROW + "cliff = 0\n", "row 1, key cliff"),
        (ROW + "cliff = 1.5\n", "row 1, key cliff"),
        (ROW + "above = {input = 1, output = 1}\n", "row 1, key above"),
        (ROW + "cliff = 5\nabove = {input = 1}\n", "row 1, key above.output"),
        (ROW.replace("2026-11-30", "'last week'"), "row 1, key date"),
        (ROW.replace("date = 2026-11-30\n", ""), "row 1, key date"),
        (ROW.replace("2026-11-30", "2026-11-30T10:00:00"), "row 1, key date"),
        (ROW.replace("http://127.0.0.1:8080/v1", "localhost"), "row 1, key base_url"),
        (ROW.replace('"Qwen3-8B"', '" "'), "row 1, key model"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        table(tmp_path, text)
    assert says in caught.value.sentence() and "prices.toml" in caught.value.where and caught.value.next


def test_a_file_that_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableFile, match="UTF-8"):
        PriceTable(path)
    with pytest.raises(UnreadableFile, match="can't be opened"):
        PriceTable(tmp_path)


def test_the_table_is_loaded_at_the_first_question_only() -> None:
    code = "import sys; from peek_core.prices import PriceTable; PriceTable(); print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

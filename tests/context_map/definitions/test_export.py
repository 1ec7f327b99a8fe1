"""The view for use elsewhere says what the view says, and no value breaks out of comment, Jinja or YAML."""

from __future__ import annotations

import json

import jinja2
from hypothesis import given, settings
from hypothesis import strategies as st

from peek_core.context_map.definitions import Definition, view_sql
from peek_core.context_map.definitions.export import dbt_files, plain_sql
from tests.context_map.definitions.test_properties import PROPOSED, standing
from tests.context_map.definitions.world import COLUMNS, Raw

ROWS = [
    (1, "a", "'", "05.01.2024", -1, 0.5, None),
    (2, "{{x}}", "b", None, 3, None, "{% endraw %}"),
    (3, None, "1", "x", 2, 2.0, "A"),
]
EVIL = [
    "x\n; DROP TABLE t --",
    "*/ SELECT 1",
    "{{ env_var('HOME') }}",
    "{% raw %}",
    "{# c",
    "a\u2028b",
    "\x85",
    "a: b # c",
    "source_table",
    "😀",
]
quick = settings(max_examples=60, deadline=None)


def rendered(model: str) -> str:
    """As dbt renders a model."""
    return (
        jinja2.Environment(autoescape=False).from_string(model).render(source=lambda source, table: f"raw.main.{table}")
    )


def evil(name: str, value: str) -> list[Definition]:
    fold = Definition("def-1", "spelling_fold", "t", "status", name, mapping={value: value + "!", "a": value})
    label = Definition(
        "def-2", "label_column", "t", "before", name, mapping={"A": value}, new_column="label", otherwise=value
    )
    return [fold, label, Definition("def-3", "row_exclusion", "t", "status", name, values=(value,))]


def same_everywhere(active: list[Definition]) -> None:
    query = Raw(ROWS)
    expected = query(view_sql("t", COLUMNS, active)).rows
    query.connection.execute(plain_sql({"t": COLUMNS}, active))
    assert query("SELECT * FROM t").rows == expected
    files = dbt_files("My feedback", {"t": COLUMNS}, active)
    if not active:
        assert list(files) == ["schema.yml"]
        return
    model = rendered(files["t.sql"])
    (statement,) = query.connection.extract_statements(model)
    assert statement.type.name == "SELECT"
    assert query(model).rows == expected
    described = json.loads(files["schema.yml"])
    (about,) = described["models"]
    assert about["name"] == "t" and described["sources"] == [{"name": "my_feedback", "tables": [{"name": "t"}]}]
    assert not {"\x85", "\u2028", "\u2029"} & set(files["schema.yml"])
    for text in [about["description"], *(c["description"] for c in about.get("columns", ()))]:
        assert rendered(text)


@quick
@given(st.lists(PROPOSED, max_size=5))
def test_exports_say_what_the_view_says(proposals: list[dict]) -> None:  # type: ignore[type-arg]
    active = standing(proposals)
    if active:
        same_everywhere(active)


@quick
@given(
    st.sampled_from(EVIL) | st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.sampled_from(EVIL),
)
def test_hostile_names_and_values_stay_where_they_are(name: str, value: str) -> None:
    active = evil(name, value)
    same_everywhere(active)
    comments = plain_sql({"t": COLUMNS}, active).split("CREATE", 1)[0]
    assert all(line.startswith("-- ") for line in comments.splitlines() if line)


def test_plain_sql_reads_like_what_was_decided() -> None:
    d = Definition("def-1", "row_exclusion", "t", "status", "Test rows don't count", values=("test",))
    assert plain_sql({"t": {"id": "BIGINT", "status": "VARCHAR"}, "u": {"id": "BIGINT"}}, [d]).split("\n\n", 1)[1] == (
        "-- def-1 Test rows don't count: rows with status = 'test' don't count\n"
        "CREATE OR REPLACE VIEW t AS\nSELECT\n  id,\n  status\nFROM raw.main.t\nWHERE\n  NOT COALESCE(status IN ('test'), FALSE);\n"
    )


def test_a_dbt_model_reads_its_source_and_is_described() -> None:
    d = Definition("def-1", "sentinel", "t", "nps", "99 is missing", values=(99,))
    files = dbt_files("Feedback 2024!", {"t": {"nps": "BIGINT"}}, [d])
    assert files["t.sql"].splitlines()[0] == "-- def-1 99 is missing: nps = 99 is missing"
    assert "FROM {{ source('feedback_2024', 't') }}" in files["t.sql"]
    assert json.loads(files["schema.yml"])["models"][0]["columns"] == [
        {"name": "nps", "description": "def-1 99 is missing: nps = 99 is missing"}
    ]

"""Calls by their source, so that a dataset's spending can be summed without reading traces."""

from alembic import op
from sqlalchemy import Column, String, inspect, text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    here = inspect(op.get_bind())
    if "source" not in {c["name"] for c in here.get_columns("call")}:
        op.add_column("call", Column("source", String(20), nullable=False, server_default=""))
        if op.get_bind().dialect.name == "sqlite":
            op.execute(text("UPDATE call SET source = json_extract(trace, '$.source')"))
    if "call_sums" not in {i["name"] for i in here.get_indexes("call")}:
        op.create_index("call_sums", "call", ["dataset", "run", "source", "tokens", "usd"])

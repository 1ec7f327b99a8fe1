"""Spending by call, and statistics by dataset."""

from alembic import op
from sqlalchemy import inspect

from peek_core.store.schema import calls, metadata, statistics

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # A new data directory has it all from the first revision, which creates what the schema says today.
    here = inspect(op.get_bind())
    known = {c["name"] for c in here.get_columns("call")}
    for column in (calls.c.tokens, calls.c.usd):
        if column.name not in known:
            op.add_column("call", column.copy())
    metadata.create_all(op.get_bind(), tables=[statistics])
    if "call_at" not in {i["name"] for i in here.get_indexes("call")}:
        op.create_index("call_at", "call", ["at"])

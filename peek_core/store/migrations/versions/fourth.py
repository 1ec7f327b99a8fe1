"""What a new version of a dataset changed, kept as it was found when it came."""

from alembic import op
from sqlalchemy import inspect

from peek_core.store.schema import impacts

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    if "impact" not in inspect(op.get_bind()).get_table_names():
        impacts.create(op.get_bind())

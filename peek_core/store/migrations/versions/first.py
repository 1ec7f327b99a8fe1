"""The first schema; squashed until a release."""

from alembic import op

from peek_core.store.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    metadata.create_all(op.get_bind())

"""The store: everything learned or done, in SQLite by default (SQLAlchemy Core, so that PostgreSQL can follow)."""

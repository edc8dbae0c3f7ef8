"""Alembic revisions of the schema, in `versions`."""

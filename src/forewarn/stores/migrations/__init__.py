"""Alembic revisions of the schema, stored in `versions`."""

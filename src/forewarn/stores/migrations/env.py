"""Alembic environment: uses the caller's connection and transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()

"""Alembic's folder: each step from one set of tables to the next."""

"""Run by Alembic, on the connection that `migrate` hands over."""

from alembic import context

from privee.gateway.ledger.schema import metadata


def run() -> None:
    """The caller's transaction holds all steps: they happen together or not at all."""
    context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
    context.run_migrations()


if getattr(context, "_proxy", None):  # not when the file is merely imported
    run()

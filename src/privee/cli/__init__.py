"""The command line: one file per command group, no logic here."""

from __future__ import annotations

import sys

from privee.version import __version__


def main() -> None:
    """Entry point of the `privee` command."""
    if sys.argv[1:] == ["--version"]:  # before anything that only the extra brings
        print(f"privee {__version__}")
        return
    try:
        from privee.cli.app import run
        from privee.cli.output import stop_in_order
    except ModuleNotFoundError as error:
        print(f"privee: the command line needs {error.name}: pip install 'privee[cli]'", file=sys.stderr)
        sys.exit(1)
    stop_in_order()
    sys.exit(run())

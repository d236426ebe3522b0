"""`python -m privee`."""

from privee.cli import main

main()

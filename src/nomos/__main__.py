"""`python -m nomos`."""

from nomos.cli import main

main()

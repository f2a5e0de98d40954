"""`python -m bearsearch` is the command line."""

from bearsearch.cli import main

main()

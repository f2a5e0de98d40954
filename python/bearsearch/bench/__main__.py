"""`python -m bearsearch.bench`: the benchmark without the rest of the command line."""

import sys

from bearsearch.bench import run

sys.exit(run(sys.argv[1:]))

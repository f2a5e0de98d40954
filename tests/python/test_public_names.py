"""What `import bearsearch` offers, and what it costs."""

import subprocess
import sys

import bearsearch
from bearsearch import errors, types


def test_every_value_and_every_exception_is_public() -> None:
    assert set(bearsearch.__all__) == {"Index", "__version__", "errors", "types", *errors.__all__, *types.__all__}
    for name in bearsearch.__all__:
        assert getattr(bearsearch, name) is not None
    assert bearsearch.Hit is types.Hit
    assert bearsearch.UsageError is errors.UsageError


def test_importing_the_package_loads_the_exceptions_only() -> None:
    program = "import sys, bearsearch; print(*(name for name in sys.modules if name.startswith('bearsearch')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) == {"bearsearch", "bearsearch.errors"}

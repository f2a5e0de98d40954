"""Look into built wheels: whether everything that must be in one is, and nothing that must not be.

python scripts/check_wheel.py dist/*.whl
"""

import email
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

MUST_HOLD = (
    r"bearsearch/__init__\.py",
    r"bearsearch/_core\.(abi3\.so|pyd)",
    r"bearsearch/_core\.pyi",
    r"bearsearch/py\.typed",
    r"bearsearch/embedding/data/all-MiniLM-L6-v2/tokenizer\.json",
    r"bearsearch/ui/app\.tcss",
    r"bearsearch/demo/notes/start-here\.md",
    r"[^/]+\.dist-info/entry_points\.txt",
    r"[^/]+\.dist-info/licenses/LICENSE",
    r"[^/]+\.dist-info/licenses/THIRD_PARTY_LICENSES",
    r"[^/]+\.dist-info/licenses/.*all-MiniLM-L6-v2/NOTICE",
)
MAY_HOLD = r"bearsearch/|bearsearch-[^/]+\.dist-info/|bearsearch\.libs/"
EXTRAS = {"model", "fast", "watch", "remote", "bench", "ui"}
COMMANDS = {"bearsearch", "bearsearch-mcp"}

LARGEST_MB = 20
"""PyPI takes 100; a wheel beyond this holds something by mistake."""


def faults_of(path: Path) -> Iterator[str]:
    """What is wrong with one wheel, as sentences."""
    if "-cp311-abi3-" not in path.name:
        yield "its tag is not cp311-abi3, so it would not install on every Python from 3.11"
    if path.stat().st_size > LARGEST_MB * 1_000_000:
        yield f"it has {path.stat().st_size / 1e6:.0f} MB, more than {LARGEST_MB}"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        for pattern in MUST_HOLD:
            if not any(re.fullmatch(pattern, name) for name in names):
                yield f"nothing in it matches {pattern}"
        for name in names:
            if not re.match(MAY_HOLD, name) or "__pycache__" in name:
                yield f"{name} does not belong into it"
        metadata_name = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(wheel.read(metadata_name))
        scripts = wheel.read(metadata_name.replace("METADATA", "entry_points.txt")).decode()
    found = re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    if metadata["Version"] != found[1]:
        yield f"its version is {metadata['Version']}, Cargo.toml says {found[1]}"
    if set(metadata.get_all("Provides-Extra", [])) != EXTRAS:
        yield f"its extras are {sorted(metadata.get_all('Provides-Extra', []))}, not {sorted(EXTRAS)}"
    if metadata["License-Expression"] != "MIT":
        yield f"its licence is {metadata['License-Expression']}"
    missing = COMMANDS - set(re.findall(r"^([\w-]+)\s*=", scripts, re.MULTILINE))
    if missing:
        yield f"it installs no {', '.join(sorted(missing))}"


def main() -> None:
    """Check every wheel that is named."""
    paths = [Path(argument) for argument in sys.argv[1:]]
    if not paths:
        sys.exit(__doc__)
    faults = [f"{path.name}: {fault}" for path in paths for fault in faults_of(path)]
    if faults:
        sys.exit("\n".join(faults))
    for path in paths:
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, complete")


if __name__ == "__main__":
    main()

"""Write THIRD_PARTY_LICENSES: what others wrote of that which is compiled into the wheel, and under which terms.

    python scripts/third_party_licenses.py            # writes the file
    python scripts/third_party_licenses.py --check    # says whether it is up to date

The crates come from `cargo metadata` for every platform that wheels are built for, along the dependencies that are
linked: build scripts and procedural macros run at build time and are not in the wheel. Where a crate offers several
licences, the first of `PREFERRED` that it offers is taken. Texts are copied from the crates' own packages; equal texts
are printed once. What is in the wheel and no crate stands in `OTHERS`. bearsearch's own licence is LICENSE.

Python packages are not in the wheel: installers fetch them, with their own licences.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "THIRD_PARTY_LICENSES"

TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)

PREFERRED = (
    "MIT",
    "MIT-0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "Apache-2.0",
)
"""Licences that may be shipped, the shortest obligations first. Another one stops this script, to be thought about."""

# Part of a file's name, in capitals, by licence.
_FILE_NAMES = {
    "MIT": ("MIT",),
    "MIT-0": ("MIT0", "MIT-0"),
    "BSD-2-Clause": ("BSD",),
    "BSD-3-Clause": ("BSD",),
    "Zlib": ("ZLIB",),
    "Unicode-3.0": ("UNICODE",),
    "Unlicense": ("UNLICENSE",),
    "CC0-1.0": ("CC0",),
    "Apache-2.0": ("APACHE", "A2"),
}

_STEMS = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE")
_MIT_BODY = re.compile(r"Permission is hereby granted.*", re.DOTALL)


@dataclass(frozen=True, order=True)
class Part:
    """Something of others that the wheel holds."""

    name: str
    version: str
    terms: str
    """The licence that was taken."""
    origin: str
    texts: tuple[str, ...]


def linked_packages(targets: Iterable[str], *, offline: bool = False) -> dict[str, dict[str, Any]]:
    """Packages that are linked into the wheel of any of these platforms, by their cargo id; ours left out."""
    found: dict[str, dict[str, Any]] = {}
    for target in targets:
        command = ["cargo", "metadata", "--format-version=1", "--locked", "--features=python"]
        command += [f"--filter-platform={target}", *(["--offline"] if offline else [])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode != 0:
            sys.exit(f"cargo metadata failed for {target}:\n{done.stderr}")
        document = json.loads(done.stdout)
        nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
        packages = {package["id"]: package for package in document["packages"]}
        root = document["resolve"]["root"]
        waiting = [root]
        seen: set[str] = set()
        while waiting:
            package_id = waiting.pop()
            if package_id in seen:
                continue
            seen.add(package_id)
            package = packages[package_id]
            if any("proc-macro" in kind for one in package["targets"] for kind in one["kind"]):
                continue
            if package_id != root:
                found[package_id] = package
            for dependency in nodes[package_id]["deps"]:
                if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                    waiting.append(dependency["pkg"])
    return found


def chosen_licences(expression: str) -> list[str]:
    """The licences that are taken of an SPDX expression: one of each group of alternatives, all that `AND` joins.

    >>> chosen_licences("(MIT OR Apache-2.0) AND Unicode-3.0")
    ['MIT', 'Unicode-3.0']
    >>> chosen_licences("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT")
    ['MIT']
    """
    chosen: list[str] = []
    for group in expression.split(" AND "):
        offered = [part.strip() for part in re.split(r" OR |/", group.strip("() "))]
        taken = next((licence for licence in PREFERRED if licence in offered), None)
        if taken is None:
            sys.exit(f"none of {offered} is a licence that this project ships; see PREFERRED")
        chosen.append(taken)
    return chosen


def licence_files(folder: Path) -> list[Path]:
    """Files of a package that hold licences; some keep them in a folder of their own."""
    files = [path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(_STEMS)]
    for inner in (".licenses", "LICENSES", "licenses"):
        if (folder / inner).is_dir():
            files += (path for path in (folder / inner).iterdir() if path.is_file())
    return sorted(set(files))


def texts_of(package: dict[str, Any], licences: list[str]) -> Iterator[str]:
    """The texts of the licences that were taken of a package."""
    files = licence_files(Path(package["manifest_path"]).parent)
    for licence in licences:
        named = [path for path in files if any(part in path.name.upper() for part in _FILE_NAMES[licence])]
        for path in named or files:
            yield path.read_text(encoding="utf-8", errors="replace")
        if not files:
            sys.exit(f"{package['name']} {package['version']} carries no licence text; add one by hand")


def others(mit: str, unicode_terms: str) -> list[Part]:
    """What the wheel holds and no crate is.

    Args:
        mit: The MIT licence without its line of copyright.
        unicode_terms: The licence of Unicode's data.
    """
    snowball = (ROOT / "scripts" / "licenses" / "snowball.txt").read_text(encoding="utf-8")
    apache = ROOT / "python" / "bearsearch" / "embedding" / "data" / "all-MiniLM-L6-v2" / "LICENSE"
    return [
        Part(
            "SQLite",
            "",
            "public domain",
            "https://sqlite.org/copyright.html",
            ("SQLite's authors dedicate its code to the public domain; it comes inside the crate libsqlite3-sys.",),
        ),
        Part("Snowball stemmers", "", "BSD-3-Clause", "https://snowballstem.org", (snowball,)),
        Part(
            "The Rust standard library",
            "",
            "MIT",
            "https://www.rust-lang.org",
            (f"Copyright (c) The Rust Project contributors\n\n{mit}", unicode_terms),
        ),
        Part(
            "all-MiniLM-L6-v2, tokenizer and vocabulary",
            "",
            "Apache-2.0",
            "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
            (apache.read_text(encoding="utf-8"),),
        ),
    ]


def page() -> str:
    """The whole file."""
    parts: list[Part] = []
    mit = unicode_terms = ""
    for package in linked_packages(TARGETS).values():
        licences = chosen_licences(package["license"])
        texts = tuple(texts_of(package, licences))
        origin = package["repository"] or f"https://crates.io/crates/{package['name']}"
        parts.append(Part(package["name"], package["version"], " AND ".join(licences), origin, texts))
        if package["name"] == "rusqlite":
            body = _MIT_BODY.search(texts[0])
            mit = body[0] if body else ""
        if package["name"] == "unicode-normalization":
            unicode_terms = texts[-1]
    assert mit
    assert unicode_terms
    parts = sorted(parts, key=lambda part: (part.name, part.version)) + others(mit, unicode_terms)

    by_text: dict[str, tuple[str, list[str]]] = {}
    for part in parts:
        for text in part.texts:
            _, names = by_text.setdefault(" ".join(text.split()), (text, []))
            names.append(f"{part.name} {part.version}".strip())

    width = max(len(f"{part.name} {part.version}") for part in parts)
    terms = max(len(part.terms) for part in parts)
    lines = [
        "bearsearch is under the MIT licence (LICENSE). Its compiled module and its package also hold the work of",
        "others, listed here with the terms under which it is used; the texts follow.",
        "",
        *(f"{f'{part.name} {part.version}'.strip():<{width}}  {part.terms:<{terms}}  {part.origin}" for part in parts),
    ]
    for text, names in by_text.values():
        body = "\n".join(line.rstrip() for line in text.strip().splitlines())
        lines += ["", "=" * 100, *_wrapped(names), "=" * 100, "", body]
    return "\n".join(lines) + "\n"


def _wrapped(names: list[str]) -> Iterator[str]:
    row = ""
    for name in dict.fromkeys(names):
        if row and len(row) + len(name) + 2 > 100:
            yield row + ","
            row = ""
        row += (", " if row else "") + name
    yield row


def main() -> None:
    """Write the file, or with --check compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is stale")
    check = parser.parse_args().check
    text = page()
    if check:
        if FILE.read_text(encoding="utf-8") != text:
            sys.exit("THIRD_PARTY_LICENSES is stale; run `python scripts/third_party_licenses.py`")
        return
    FILE.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

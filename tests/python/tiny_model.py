"""Writes a small ONNX model with bge-small's interface, so that its real loading code runs where no hub is reached.

Not a language model: a token's vector is a row of a fixed random table, and each position adds the mean of the
text's tokens, so texts that share words are alike and padding must be masked to be harmless. Needs the package
`onnx`, which only tests install.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import bearsearch.embedding

TOKENIZER = Path(bearsearch.embedding.__file__).parent / "data" / "all-MiniLM-L6-v2" / "tokenizer.json"
"""BERT's uncased vocabulary, which bge-small uses too."""
_ROWS = 997
_POSITIONS = 512


def write_tiny_model(
    folder: Path,
    *,
    model_file: str = "model_optimized.onnx",
    dim: int = 384,
    max_tokens: int = 512,
    seed: int = 7,
    pooled: bool = False,
    broken_output: bool = False,
) -> Path:
    """Writes model, tokenizer and its settings, and returns the folder.

    Args:
        folder: Made if missing.
        model_file: Name of the weights in it, a path with "/" for a nested one.
        dim: Width of the output.
        max_tokens: What `tokenizer_config.json` says; the model itself fails above 512.
        seed: Of the table; another seed is another model.
        pooled: One vector for each text instead of one for each token.
        broken_output: Every number is NaN.
    """
    path = folder / model_file
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(_model(dim, seed, pooled=pooled, broken_output=broken_output), str(path))
    shutil.copyfile(TOKENIZER, folder / "tokenizer.json")
    settings = {"model_max_length": max_tokens, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def _model(dim: int, seed: int, *, pooled: bool, broken_output: bool) -> onnx.ModelProto:
    random = np.random.default_rng(seed)
    constants = {
        "table": random.standard_normal((_ROWS, dim)).astype(np.float32),
        "positions": (random.standard_normal((_POSITIONS, dim)) / 8).astype(np.float32),
        "types": np.zeros((2, dim), dtype=np.float32),
        "rows": np.array(_ROWS, dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
        "two": np.array([2], dtype=np.int64),
        "zero": np.array([0], dtype=np.int64),
        "nan": np.array(np.nan if broken_output else 1.0, dtype=np.float32),
    }
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    nodes = [
        helper.make_node("Mod", ["input_ids", "rows"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["words"]),
        helper.make_node("Gather", ["types", "token_type_ids"], ["kinds"]),
        helper.make_node("Shape", ["input_ids"], ["shape"]),
        helper.make_node("Slice", ["shape", "one", "two"], ["length"]),
        helper.make_node("Slice", ["positions", "zero", "length", "zero"], ["places_cut"]),
        helper.make_node("Add", ["words", "places_cut"], ["placed"]),
        helper.make_node("Add", ["placed", "kinds"], ["tokens"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "two"], ["mask3"]),
        helper.make_node("Mul", ["words", "mask3"], ["real"]),
        helper.make_node("ReduceSum", ["real", "one"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["mask3", "one"], ["count"], keepdims=1),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("Mul", ["mean", "nan"], ["context"]),
    ]
    if pooled:
        nodes.append(helper.make_node("Squeeze", ["context", "one"], ["sentence_embedding"]))
        output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", dim])
    else:
        nodes.append(helper.make_node("Add", ["tokens", "context"], ["last_hidden_state"]))
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", dim])
    graph = helper.make_graph(
        nodes, "tiny", ids, [output], [numpy_helper.from_array(value, name) for name, value in constants.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="bearsearch tests")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model

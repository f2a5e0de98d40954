"""Writes a small ONNX cross-encoder with the interface of ms-marco-MiniLM, so that its real loading code runs offline.

Not a language model: a pair's score is the number of tokens in its passage, so longer passages score higher. That is
enough to see that its order is used.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tiny_model import TOKENIZER


def write_tiny_reranker(folder: Path) -> Path:
    """Writes `onnx/model.onnx` and the tokenizer's files, and returns the folder."""
    (folder / "onnx").mkdir(parents=True)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    nodes = [
        # Passages carry token type 1: the score counts their tokens.
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["passage"]),
        helper.make_node("Cast", ["passage"], ["counted"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["counted", "axes"], ["logits"], keepdims=1),
    ]
    axes = numpy_helper.from_array(np.array([1], dtype=np.int64), "axes")
    graph = helper.make_graph(nodes, "reranker", inputs, [output], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save_model(model, str(folder / "onnx" / "model.onnx"))
    shutil.copyfile(TOKENIZER, folder / "tokenizer.json")
    settings = {"model_max_length": 512, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}), encoding="utf-8")
    special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    (folder / "special_tokens_map.json").write_text(json.dumps(special), encoding="utf-8")
    return folder

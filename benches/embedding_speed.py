"""Speed and memory of embedding: plain fastembed against bearsearch, same weights, same texts.

What it measures, on the Markdown files of a folder:
- texts per second and peak memory over passages of notes (cut at headings, at most 300 words: lengths vary) and
  over passages that fill the model (lengths alike), each system in a process of its own, rounds interleaved; no
  passage is longer than the model takes, since plain fastembed would leave its rest out;
- a query in a fresh process: imports, loading, first query; and a warm query.

    python benches/embedding_speed.py --notes FOLDER [--texts 256] [--rounds 3] [--model-path DIR]

Plain fastembed runs with its defaults (all cores in one inference) at batch 256, its default, and at 32 and 1.
"bearsearch prepared" is the fused 8-bit form of the same weights (`bearsearch.embedding.prepare`; needs `onnx`).
The speed of a shared machine wanders: compare the ratio, which is the median over rounds of the time against the
first line's of the same round, and the texts per second of processor time, which wander less.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SEED = 20240611
SYSTEMS = (
    "fastembed batch 256",
    "fastembed batch 32",
    "fastembed batch 1",
    "bearsearch",
    "bearsearch prepared",
    "bearsearch quick",
    "prepared quick",
)
QUERIES = (
    "how do I undo the last commit",
    "rename a file in every branch",
    "sort a list of objects by two keys",
    "what is the default port of postgres",
    "css grid center one element",
)


def passages(folder: Path, model_path: Path | None, *, full: bool) -> Iterator[str]:
    """Pieces of each Markdown file that fit the model: sections, or beginnings that fill it; in a fixed order."""
    from tokenizers import Tokenizer

    from bearsearch.embedding.windows import split

    choice, _ = chosen(model_path)
    tokenizer = Tokenizer.from_file(str(choice.files.tokenizer_folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    limit = choice.spec.max_tokens - tokenizer.num_special_tokens_to_add(False)
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if full:
            ends = [end for _, end in tokenizer.encode(text, add_special_tokens=False).offsets]
            if len(ends) >= limit:
                yield text[: ends[limit - 1]]
            continue
        for section in re.split(r"(?m)^(?=#{1,6} )", text):
            words = list(re.finditer(r"\S+", section))
            for start in range(0, len(words), 300):
                part = words[start : start + 300]
                yield from split(section[part[0].start() : part[-1].end()], tokenizer, limit=limit)


# One system in one process: reads texts, prints one line of JSON.


def fastembed_embedder(model_path: Path | None) -> tuple[Any, Callable[[list[str], int], Any]]:
    """Plain fastembed over the same files that bearsearch chooses."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    files = chosen(model_path)[0].files
    pooling = PoolingType.CLS if files.spec.pooling == "cls" else PoolingType.MEAN
    TextEmbedding.add_custom_model(
        model="bench/model",
        pooling=pooling,
        normalization=True,
        sources=ModelSource(hf="bench/model"),
        dim=files.spec.dim or 384,
        model_file=str(files.model_file.resolve()),
    )
    model = TextEmbedding("bench/model", specific_model_path=str(files.tokenizer_folder), local_files_only=True)
    return model, lambda texts, batch: list(model.embed(texts, batch_size=batch))


def chosen(model_path: Path | None, *, prepared: bool = False) -> tuple[Any, Any]:
    """The model that bearsearch chooses, and the settings."""
    from bearsearch.config import load_settings
    from bearsearch.embedding import FUSED_MODEL, PACKAGE_MODEL, find_model

    model = FUSED_MODEL if prepared else PACKAGE_MODEL
    settings = load_settings({"model_path": model_path} if model_path else {"model": model})
    choice = find_model(settings)
    if not choice.available:
        raise SystemExit(choice.detail)
    return choice, settings


def child(system: str, model_path: Path | None) -> None:
    """Runs one system on the texts of standard input."""
    if system == "prepare":
        from bearsearch.config import load_settings
        from bearsearch.embedding.prepare import prepare

        prepare(load_settings())
        return
    started = time.perf_counter()
    if system.startswith("fastembed"):
        batch = int(system.rsplit(maxsplit=1)[-1])
        _, embed = fastembed_embedder(model_path)
        run: Callable[[list[str]], Any] = lambda texts: embed(texts, batch)  # noqa: E731
        query: Callable[[str], Any] = lambda text: embed([text], 1)  # noqa: E731
    else:
        from bearsearch.embedding import load_embedder

        choice, settings = chosen(model_path, prepared="prepared" in system)
        embedder = load_embedder(choice, settings, quick=system.endswith("quick"))
        run, query = embedder.embed_documents, embedder.embed_query
    loaded = time.perf_counter()
    query(QUERIES[0])
    first = time.perf_counter()
    warm = []
    for text in QUERIES * 4:
        before = time.perf_counter()
        query(text)
        warm.append(time.perf_counter() - before)
    texts = json.load(sys.stdin)
    before, cpu_before = time.perf_counter(), time.process_time()
    if texts:
        run(texts)
    print(
        json.dumps(
            {
                "load_s": loaded - started,
                "first_query_s": first - loaded,
                "warm_query_s": statistics.median(warm),
                "seconds": time.perf_counter() - before,
                "cpu_seconds": time.process_time() - cpu_before,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


# The parent: rounds of children, and tables.


def run_child(system: str, texts: list[str], model_path: Path | None, home: str) -> str:
    """What a child process printed."""
    command = [sys.executable, __file__, "--child", system]
    if model_path is not None:
        command += ["--model-path", str(model_path)]
    done = subprocess.run(
        command,
        input=json.dumps(texts),
        env={**os.environ, "BEARSEARCH_HOME": home},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{system} failed:\n{done.stderr}")
    return done.stdout


def measure(system: str, texts: list[str], model_path: Path | None, home: str) -> dict[str, float]:
    """One child's numbers, and the wall time of the whole process."""
    started = time.perf_counter()
    printed = run_child(system, texts, model_path, home)
    return {**json.loads(printed), "process_s": time.perf_counter() - started}


def throughput(title: str, texts: list[str], args: argparse.Namespace, home: str) -> None:
    """Interleaved rounds of all systems over the same texts."""
    systems = [system for system in args.systems if not system.endswith("quick")]
    runs: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
    for _ in range(args.rounds):
        for system in systems:
            runs[system].append(measure(system, texts, args.model_path, home))
    words = sorted(len(text.split()) for text in texts)
    print(f"\n{title}: {len(texts)} texts, words p10/p50/p90 ", end="")
    print("/".join(str(words[int(len(words) * part)]) for part in (0.1, 0.5, 0.9)))
    print(f"{'system':<22}{'texts/s':>9}{'best':>8}{'ratio':>8}{'texts/cpu-s':>13}{'peak MB':>9}")
    base = [run["seconds"] for run in runs[systems[0]]]
    for system, rounds in runs.items():
        seconds = [run["seconds"] for run in rounds]
        ratio = statistics.median(first / own for first, own in zip(base, seconds, strict=True))
        print(
            f"{system:<22}{len(texts) / statistics.median(seconds):>9.1f}{len(texts) / min(seconds):>8.1f}"
            f"{ratio:>8.2f}{len(texts) / min(run['cpu_seconds'] for run in rounds):>13.1f}"
            f"{max(run['peak_mb'] for run in rounds):>9.0f}",
            flush=True,
        )


def cold(args: argparse.Namespace, home: str) -> None:
    """A query in a fresh process."""
    print(f"\na query in a fresh process, median of {args.rounds * 3}, then the best (ms)")
    print(f"{'system':<22}{'import+load':>15}{'first query':>15}{'warm query':>15}{'process':>15}")
    systems = [system for system in args.systems if system not in ("fastembed batch 256", "fastembed batch 32")]
    runs: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
    for _ in range(args.rounds * 3):
        for system in systems:
            runs[system].append(measure(system, [], args.model_path, home))
    for system, rounds in runs.items():
        cells = [
            f"{1000 * statistics.median(run[key] for run in rounds):.0f} / {1000 * min(run[key] for run in rounds):.0f}"
            for key in COLUMNS
        ]
        print(f"{system:<22}" + "".join(f"{cell:>15}" for cell in cells))


COLUMNS = ("load_s", "first_query_s", "warm_query_s", "process_s")


def main() -> None:
    """Parses arguments and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, help="folder of Markdown files")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model-path", type=Path, default=None)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.model_path)
        return
    if args.notes is None or not args.notes.is_dir():
        parser.error("--notes must name a folder of Markdown files")
    pick = random.Random(SEED)
    with tempfile.TemporaryDirectory() as home:
        if any("prepared" in system for system in args.systems):
            # In a process of its own: a child's peak memory begins with that of its parent.
            run_child("prepare", [], None, home)
        for title, full in (("passages of notes", False), ("passages that fill the model", True)):
            found = list(passages(args.notes, args.model_path, full=full))
            throughput(title, pick.sample(found, min(args.texts, len(found))), args, home)
        cold(args, home)


if __name__ == "__main__":
    main()

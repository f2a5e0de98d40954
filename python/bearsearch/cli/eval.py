"""`bearsearch eval`: measure how good search is, on public datasets or on the user's own notes."""

import sys
from pathlib import Path

import click

from bearsearch.cli.options import Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, write
from bearsearch.cli.progress import progress_bar
from bearsearch.errors import UsageError

__all__ = ["command"]


@click.command(
    "eval",
    short_help="Measure how good search is.",
    cls=Command,
    formats=("text", "json"),
    example="bearsearch eval collections/cranfield --keep eval-indexes\n"
    "bearsearch eval questions.jsonl --notes ~/Notes\nbearsearch eval --own",
)
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option("--notes", metavar="PATH", help="The notes that known-item files ask about: a folder or a Bear database.")
@click.option("--own", is_flag=True, help="Measure on your own notes, with questions made from them.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only text, vector, hybrid, rrf or rerank.")
@click.option("--rerank", is_flag=True, help="Measure a cross-encoder over the hybrid list, too.")
@click.option("--baseline", metavar="NAME", help="What the others are compared with; the first one if not given.")
@click.option("--keep", metavar="DIR", help="Keep the scratch indexes here and use them again.")
@global_options
@pass_options
def command(
    options: GlobalOptions,
    /,
    datasets: tuple[str, ...],
    notes: str | None,
    own: bool,
    systems: tuple[str, ...],
    rerank: bool,
    baseline: str | None,
    keep: str | None,
) -> int:
    """Measure how good search is: nDCG@10, recall, MRR and time, for words, meaning and both.

    A dataset is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or a file of known items, one JSON object a
    line, with query, kind and relevant. Datasets are indexed apart from your own notes.
    """
    form = options.output_format
    if bool(datasets) == own:
        raise UsageError("name the datasets to measure on, or --own for your own notes, but not both")
    from bearsearch.eval import SYSTEMS, Evaluated, as_json, as_text, evaluate, evaluate_own, load

    names = systems or tuple(name for name in SYSTEMS if rerank or name != "rerank")
    measured: list[Evaluated] = []
    with progress_bar(quiet=options.quiet) as progress:
        if own:
            with options.open_index() as index:
                measured.append(evaluate_own(index, systems=names, baseline=baseline, progress=progress))
        loaded = [load(Path(path), notes=Path(notes) if notes else None) for path in datasets]
        for dataset in loaded:
            evaluated = evaluate(
                dataset,
                systems=names,
                baseline=baseline,
                keep=Path(keep) if keep else None,
                model=options.model,
                model_path=options.model_path,
                semantic=options.semantic,
                progress=progress,
            )
            measured.append(evaluated)
            if form == "text":
                write(as_text(evaluated) + "\n")
    if form == "json":
        from bearsearch.render.as_json import dumps

        write(dumps(as_json(measured)))
    elif own:
        write(as_text(measured[0]))
    if not options.quiet and form == "json":
        missing = [f"{one.name}: {name} did not run: {why}" for one in measured for name, why in one.missing.items()]
        say(missing)
    sys.stdout.flush()
    return 0

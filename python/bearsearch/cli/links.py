"""`bearsearch links`: the notes around one note, or a report of all links. Exits with 1 when nothing is found."""

import sys
from typing import TYPE_CHECKING, Literal, cast

import click

from bearsearch.cli.options import GRAPH_FORMATS, LIST_FORMATS, Command, GlobalOptions, global_options, pass_options
from bearsearch.cli.output import say, style_of, write
from bearsearch.errors import UsageError

if TYPE_CHECKING:
    from bearsearch.service import Index

__all__ = ["command"]


@click.command(
    "links",
    short_help="Show the notes around a note, along its links.",
    cls=Command,
    formats=(*LIST_FORMATS, *GRAPH_FORMATS),
    example="bearsearch links 'Night trains' --depth 2\n"
    "bearsearch links 'Night trains' --format dot | dot -Tsvg -o links.svg\n"
    "bearsearch links --broken",
)
@click.argument("note", required=False, metavar="ID_OR_TITLE")
@click.option("--depth", type=int, default=1, show_default=True, metavar="N", help="Steps to go, 1 to 3.")
@click.option(
    "--direction",
    type=click.Choice(["out", "in", "both"]),
    default="both",
    show_default=True,
    help="Follow its links, those to it, or either.",
)
@click.option("--orphans", "report", flag_value="orphans", help="Instead: notes without any link.")
@click.option("--broken", "report", flag_value="broken", help="Instead: links that lead to no note.")
@click.option("--hubs", "report", flag_value="hubs", help="Instead: notes with most links.")
@click.option("-n", "--limit", type=int, metavar="N", help="At most this many steps (200), notes or links (50).")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="With a report: only notes of this source.")
@click.option("--archived", is_flag=True, help="Archived notes too.")
@global_options
@pass_options
def command(
    options: GlobalOptions,
    /,
    note: str | None,
    depth: int,
    direction: str,
    report: str | None,
    limit: int | None,
    sources: tuple[str, ...],
    archived: bool,
) -> int:
    """Show the notes around one note, along its links and those to it, nearest first; or a report of all links."""
    form = options.output_format
    if (note is None) == (report is None):
        raise UsageError("name one note, or one of --orphans, --broken and --hubs")
    if report is not None:
        if form in GRAPH_FORMATS:
            raise UsageError(f"a report is a list, not a graph; name one note to print it as {form}")
        with options.open_index() as index:
            return _report(index, report, form, options, limit=limit or 50, sources=sources, archived=archived)
    if sources:
        raise UsageError("--source narrows a report; a note is named as SOURCE:ID")
    with options.open_index() as index:
        found = index.links(
            note or "",
            depth=depth,
            direction=cast("Literal['out', 'in', 'both']", direction),
            limit=200 if limit is None else limit,
            archived=archived,
        )
    if found is None:
        say([f"no note has the id or title {note!r}; `bearsearch search` finds notes by their words"])
        return 1
    from bearsearch.render import as_text

    if form in {"json", "jsonl"}:
        from bearsearch.render import as_json

        document = as_json.links(found)
        steps = [hop for hops in document["hops"] for hop in hops]
        write(as_json.dumps(document) if form == "json" else as_json.lines(steps))
    else:
        from bearsearch.render import as_graph

        drawings = {"dot": as_graph.dot, "mermaid": as_graph.mermaid}
        write(drawings[form](found) if form in drawings else as_graph.tree(found, style=style_of(sys.stdout)))
    number = sum(len(hops) for hops in found.hops)
    left_out = [f"{found.left_out} more steps are left out; --limit shows more"] if found.left_out else []
    say([as_text.count(number, "step"), *left_out, *found.notices], quiet=options.quiet)
    return 0 if number else 1


def _report(
    index: "Index",
    report: str,
    form: str,
    options: GlobalOptions,
    *,
    limit: int,
    sources: tuple[str, ...],
    archived: bool,
) -> int:
    from bearsearch.render import as_graph, as_json, as_text

    style = style_of(sys.stdout)
    match report:
        case "orphans":
            orphans = index.orphans(limit=limit, sources=sources, archived=archived)
            what, shown, total, notices = "notes without links", len(orphans.notes), orphans.total, orphans.notices
            document, entries, text = as_json.notes(orphans), "notes", as_text.notes(orphans, style=style)
        case "broken":
            broken = index.broken_links(limit=limit, sources=sources, archived=archived)
            what, shown, total, notices = "broken links", len(broken.links), broken.total, broken.notices
            document, entries, text = as_json.broken(broken), "links", as_graph.broken(broken, style=style)
        case _:
            hubs = index.hubs(limit=limit, sources=sources, archived=archived)
            what, shown, total, notices = "notes with links", len(hubs.hubs), hubs.total, hubs.notices
            document, entries, text = as_json.hubs(hubs), "hubs", as_graph.hubs(hubs, style=style)
    if form == "text":
        write(text)
    else:
        write(as_json.dumps(document) if form == "json" else as_json.lines(document[entries]))
    say([f"{shown} of {total} {what}", *notices], quiet=options.quiet)
    return 0 if shown else 1

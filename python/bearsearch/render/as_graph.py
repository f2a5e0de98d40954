"""Links as a tree for a terminal, as Graphviz and as Mermaid; and the lists of what stands out in the graph.

In the tree every note stands below the first note that leads to it. A step to a note that stands elsewhere already is
shown without what follows from it.
"""

from collections.abc import Iterator

from bearsearch.render.style import PLAIN, Style
from bearsearch.render.visible import on_one_line
from bearsearch.types import BrokenLink, BrokenLinks, Hubs, LinkHop, Links

__all__ = ["broken", "dot", "hubs", "mermaid", "tree"]


def tree(value: Links, *, style: Style = PLAIN) -> str:
    """The root, and below it every step: an arrow along or against the link, the note, the link's text and line."""
    children: dict[str, list[LinkHop]] = {}
    for hop in (hop for hops in value.hops for hop in hops):
        children.setdefault(_near(hop), []).append(hop)
    root = f"{value.root.source}:{value.root.id}"
    lines = [f"{style.title(_title(value.root.title))}  {style.dim(on_one_line(root))}"]
    lines += _branches(root, children, {root}, "", style)
    lines += (style.warning(f"broken: {_broken_link(link)}") for link in value.broken)
    return "".join(line + "\n" for line in lines)


def _branches(
    note: str, children: dict[str, list[LinkHop]], shown: set[str], indent: str, style: Style
) -> Iterator[str]:
    hops = children.get(note, [])
    # First all steps of one level, so that a note stands where the shortest way leads to it.
    fresh = [hop for hop in hops if _far(hop) not in shown and not shown.add(_far(hop))]
    for place, hop in enumerate(hops):
        last = place == len(hops) - 1
        corner = "\u2514\u2500" if last else "\u251c\u2500"
        arrow = "\u2192" if hop.direction == "out" else "\u2190"
        yield f"{indent}{corner}{arrow} {_step(hop, style)}"
        if hop in fresh:
            yield from _branches(_far(hop), children, shown, indent + ("   " if last else "\u2502  "), style)


def _step(hop: LinkHop, style: Style) -> str:
    title = _title(hop.to_title if hop.direction == "out" else hop.from_title)
    details = [f'"{on_one_line(hop.text)}"'] if hop.text and hop.text != hop.to_title else []
    details += [f"#{on_one_line(hop.heading)}"] if hop.heading else []
    details.append(f"line {hop.line}" if hop.count == 1 else f"line {hop.line} and {hop.count - 1} more")
    details += [hop.form] if hop.form != "wiki" else []
    details += ["may mean another note"] if hop.ambiguous else []
    return f"{style.title(title)}  {style.dim(', '.join([*details, on_one_line(_far(hop))]))}"


def _near(hop: LinkHop) -> str:
    return hop.from_note if hop.direction == "out" else hop.to_note


def _far(hop: LinkHop) -> str:
    return hop.to_note if hop.direction == "out" else hop.from_note


def _title(title: str) -> str:
    return on_one_line(title) or "(untitled)"


def broken(value: BrokenLinks, *, style: Style = PLAIN) -> str:
    """One line per link that leads nowhere: what it names, and where it stands."""
    return "".join(
        f"{style.title(on_one_line(link.target))}  {style.dim(f'in {_title(link.from_title)}, {_place(link)}')}\n"
        for link in value.links
    )


def _broken_link(link: BrokenLink) -> str:
    return f"{on_one_line(link.target)} (line {link.line})"


def _place(link: BrokenLink) -> str:
    return f"line {link.line}  {on_one_line(link.from_note)}"


def hubs(value: Hubs, *, style: Style = PLAIN) -> str:
    """One line per note: how many notes link to it, to how many it links, and which it is."""
    return "".join(
        f"{hub.incoming:>5,} in {hub.outgoing:>5,} out  {style.title(_title(hub.note.title))}"
        f"  {style.dim(on_one_line(f'{hub.note.source}:{hub.note.id}'))}\n"
        for hub in value.hubs
    )


def _nodes(value: Links) -> dict[str, tuple[str, str]]:
    """Each note's name in the drawing and its title, in the order of its distance."""
    root = f"{value.root.source}:{value.root.id}"
    titles = {root: value.root.title}
    for hop in (hop for hops in value.hops for hop in hops):
        titles.setdefault(hop.from_note, hop.from_title)
        titles.setdefault(hop.to_note, hop.to_title)
    return {note: (f"n{place}", title) for place, (note, title) in enumerate(titles.items())}


def dot(value: Links) -> str:
    """A Graphviz digraph: a box per note, an arrow per step with the link's text.

    >>> print(_quoted('a "b"'))
    "a \\"b\\""
    """
    nodes = _nodes(value)
    text = "digraph links {\n  rankdir=LR;\n  node [shape=box];\n"
    for place, (note, (name, title)) in enumerate(nodes.items()):
        mark = ", style=bold" if place == 0 else ""
        text += f"  {name} [label={_quoted(_title(title))}, tooltip={_quoted(on_one_line(note))}{mark}];\n"
    for hop in (hop for hops in value.hops for hop in hops):
        label = f" [label={_quoted(on_one_line(hop.text))}]" if hop.text != hop.to_title else ""
        text += f"  {nodes[hop.from_note][0]} -> {nodes[hop.to_note][0]}{label};\n"
    return text + "}\n"


def _quoted(text: str) -> str:
    """A quoted string of Graphviz: quotes and backslashes escaped, so that no label ends early."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def mermaid(value: Links) -> str:
    """A Mermaid flowchart: a box per note, an arrow per step with the link's text."""
    nodes = _nodes(value)
    text = "flowchart LR\n"
    for name, title in nodes.values():
        text += f'  {name}["{_entities(_title(title))}"]\n'
    for hop in (hop for hops in value.hops for hop in hops):
        words = on_one_line(hop.text) if hop.text != hop.to_title else ""
        label = f'|"{_entities(words)}"|' if words else ""
        text += f"  {nodes[hop.from_note][0]} -->{label} {nodes[hop.to_note][0]}\n"
    return text


def _entities(text: str) -> str:
    """Text inside Mermaid's quotes: what could end the string or be read as markup stands as an entity."""
    special = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "|": "#124;"}
    return "".join(special.get(character, character) for character in text)

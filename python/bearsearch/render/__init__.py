"""The service's values -> text, JSON, Markdown and XML. Decides nothing and prints nothing.

    style.py         what a terminal can show: colour, links, width
    visible.py       control and invisible characters made harmless or visible
    as_text.py       for a person
    as_graph.py      links as a tree, as Graphviz and as Mermaid
    as_json.py       for a program: the documented keys
    as_markdown.py   for another note
    as_xml.py        for a model: note text that cannot pass for markup
    as_reply.py      for an agent: the text half of an MCP reply

Each `as_*` module has one function per kind of value, named after it: `search`, `get`, `status`, `sync`.
"""

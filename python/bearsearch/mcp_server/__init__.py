"""The MCP server: tools -> service -> structured replies. Standard output belongs to the protocol.

    wire.py         standard output before and after the protocol, and a parent that is gone
    serve.py        the process: what runs before and after the protocol loop
    http.py         the same server over HTTP on this machine, with a token
    log.py          the log, which never holds note text
    app.py          the server object: tools, resources, prompts, and how errors reach the model
    jp.py           results and errors as the JP program expects them
    instructions.py what a model is told at the start, from the live index
    tools.py        which tools there are
    reading.py graph.py upkeep.py writing.py fetching.py   the tools; their docstrings are the model's manual
    resources.py prompts.py completions.py        what a person picks from a program's menus
    arguments.py    what a model sent -> what a tool's schema says, or a sentence
    replies.py      the shapes of structured replies (the JSON of docs/json.md)
    answer.py       a result -> text and structure that fit into a reply
    budget.py       how much of a result one reply may hold
    cursor.py       where the next page of an answer begins
    library.py      the one index that all tools share

No searching and no SQL lives here. Importing this package imports nothing: the MCP SDK takes most of a second.
"""

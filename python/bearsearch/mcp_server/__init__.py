"""The MCP server: tools -> service -> structured replies. Standard output belongs to the protocol.

    serve.py       the process: what runs before and after the protocol loop
    app.py         the server object: errors, unknown names, instructions built from the live index
    tools.py       the tools; their docstrings are the model's manual
    arguments.py   what a model sent -> what a tool's schema says, or a sentence
    replies.py     the shapes of structured replies (the JSON of docs/json.md)
    library.py     the one index that all tools share
    budget.py      how much of a result one reply may hold

No searching and no SQL lives here. Importing this package imports nothing: the MCP SDK takes most of a second.
"""

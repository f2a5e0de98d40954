"""The use cases: sources, sync, embed, search, get, list, tags, links, status. Every door calls this, adds nothing.

    index.py        `Index`: the public methods and their documentation; each calls one room

    searching.py    a search, and notes like a note
    queries.py      what the model makes of a query
    arranging.py    the order and number of the hits that are shown
    reading.py      notes, their lines and sections; lists, tags, languages
    graph.py        links, orphans, broken links, hubs, the map
    creating.py     a new note
    sources.py      the registered sources: add, remove, list
    upkeep.py       the background thread, and following changes
    report.py       status and doctor

    scope.py        what an answer may be about
    freshness.py    syncing before an answer, within a time
    syncing.py      sources -> text index
    embedding.py    texts that wait -> vectors
    mending.py      a damaged index
    targets.py      which sources a call reads
    progress.py     what long steps report

    open_index.py   what a call is given: engine, settings, models, background thread
    models.py       the models of an open index, loaded once

Prints nothing, knows no terminal and no protocol, and writes no SQL. The engine is `bearsearch._core`; models are
`bearsearch.embedding`, loaded only when a vector is needed. Nothing outlives a call but what `open_index.py` holds; a
file imports only files below it in this list.
"""

from bearsearch.service.index import Index

__all__ = ["Index"]

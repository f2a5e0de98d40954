"""The interactive search in a terminal: results while you type, the passage in its note, one key to open it.

    app.py        the program: what stands where, keys, and what each does
    answers.py    a query -> rows and a line of status; the only part that asks the service
    preview.py    a note with its passage and the query's words marked
    opening.py    how a note is opened in Bear, Obsidian, the desktop's program or an editor
    app.tcss      sizes and colours

Needs the extra `bearsearch[ui]` (Textual). Nothing here searches, and nothing elsewhere imports this.
"""

__all__: list[str] = []

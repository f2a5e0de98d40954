"""Making a program use the MCP server: its settings file is changed, and only this server's entry in it.

    hosts.py      the programs: where their settings are and what an entry looks like
    launch.py     how to start this installation, in absolute paths
    jsonc.py      changes one member of a JSON file, comments and all else untouched
    toml_table.py changes one table of a TOML file, comments and all else untouched
    settings.py   read, back up, write, put back
    handshake.py  start the server as the program would, and talk to it

Knows the server by its command line only.
"""

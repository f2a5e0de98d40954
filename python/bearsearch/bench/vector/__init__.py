"""The section `vector`: nearest-neighbour search through SQL beside other engines.

`data` makes collections, `peers_sqlite` and `peers_memory` know how each engine is used, `worker` measures
one of them in a process of its own, `section` decides which of them on what.
"""

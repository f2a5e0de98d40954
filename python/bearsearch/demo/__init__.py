"""A small library of one invented person, to try bearsearch on and to measure it with.

`library` builds a Bear database from the texts in `notes/`; `run` indexes it and searches it in three modes;
`queries.toml` holds the queries that `run` shows, `known_item.jsonl` the judged ones that floors are set on.
Nobody and nothing in these notes is real.
"""

"""The use cases: sources, sync, embed, search, get, list, tags, links, status. Every door calls this, adds nothing."""

from bearsearch.service.index import Index

__all__ = ["Index"]

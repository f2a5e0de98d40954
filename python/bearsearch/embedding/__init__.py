"""From text to vectors: which model embeds, where its files are, and how they run fast in little memory.

`find_model` decides in milliseconds, `load_embedder` loads, the `Embedder` computes. Knows nothing of notes, of
the index or of search. Importing this package imports no model package.
"""

from __future__ import annotations

from bearsearch.config import Settings
from bearsearch.errors import ModelUnavailableError

from .choose import ModelChoice, find_model
from .embedder import Embedder
from .models import DEFAULT_MODEL, FUSED_MODEL, PACKAGE_MODEL, ModelSpec, catalogue

__all__ = [
    "DEFAULT_MODEL",
    "FUSED_MODEL",
    "PACKAGE_MODEL",
    "Embedder",
    "ModelChoice",
    "ModelSpec",
    "catalogue",
    "find_model",
    "load_embedder",
]


def load_embedder(choice: ModelChoice, settings: Settings, *, quick: bool = False) -> Embedder:
    """Loads the model of a choice; takes from 0.2 s to seconds, and memory for the weights.

    Args:
        choice: From `find_model`.
        settings: The same that `find_model` was given.
        quick: For queries: loads in a third of the time, at the price of slower first inferences; the vectors are
            the same. Without it, for much text at once.

    Raises:
        ModelUnavailableError: The choice has no model, or its files could not be fetched.
        ModelDamagedError: A file is not what its hash says.
        ModelError: The model cannot be run.
    """
    if not choice.available:
        raise ModelUnavailableError(choice.detail)
    if choice.origin == "remote":
        from .remote import load_remote

        return load_remote(choice)
    from .local import load_local

    return load_local(choice, settings, quick=quick)

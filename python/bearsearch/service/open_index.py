"""What the use cases share: the engine on its file, the settings, the models, the background thread.

One `OpenIndex` per `Index`, handed to every function that needs more than one of these; a function that needs the
engine alone takes the engine. Here and in `models` is all that outlives a call: the other rooms keep nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bearsearch import _core
from bearsearch.config import Settings
from bearsearch.errors import IndexCorruptError
from bearsearch.service.models import Models

if TYPE_CHECKING:
    from bearsearch.background import Background

__all__ = ["OpenIndex"]


class OpenIndex:
    """An index file in use.

    Args:
        settings: What to work with.
        quick: For a process that asks once and ends: the model loads faster and embeds slower.

    Raises:
        IndexUnavailableError: The file cannot be opened, except because of damage.
    """

    def __init__(self, settings: Settings, *, quick: bool) -> None:
        self.models = Models(settings, index_model=self._model_name, quick=quick)
        self.background: Background | None = None
        """Set while a background thread keeps the index up to date."""
        self._engine: _core.Index | None = None
        # A damaged file is reported by the first use, because `sync` can mend it; what nothing can mend, now.
        with contextlib.suppress(IndexCorruptError):
            self.engine  # noqa: B018

    @property
    def settings(self) -> Settings:
        """What to work with; kept with the models, which look into them too."""
        return self.models.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.models.settings = settings

    @property
    def engine(self) -> _core.Index:
        """The engine, which is opened by the first use, and by the first after `close`.

        Raises:
            IndexUnavailableError: The file cannot be opened, or one of its children for a damaged, newer or busy index.
        """
        if self._engine is None:
            self._engine = _core.Index(str(self.settings.index))
        return self._engine

    def live_model(self) -> _core.ModelDict | None:
        """The model whose vectors are searched; None before any text was embedded."""
        return next((model for model in self.engine.models() if model["live"]), None)

    def _model_name(self) -> str | None:
        live = self.live_model()
        return live["name"] if live else None

    def close(self) -> None:
        """Ends the background thread and lets go of models and file."""
        if self.background is not None:
            self.background.stop()
            self.background = None
        self.models.close()
        self._engine = None

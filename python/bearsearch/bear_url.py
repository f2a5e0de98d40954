"""Bear's URL scheme: the one way this project writes a note, by asking Bear to.

Bear listens to `bear://x-callback-url/...` URLs. It gives no answer here: whether the URL was handed over is all that
can be known. Every value is percent-encoded with %20 for a space, because Bear keeps a plus sign as it is.
"""

import subprocess
import sys
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from bearsearch.errors import SourceError, SourceNotFoundError, UsageError

__all__ = ["MAXIMUM_URL_BYTES", "create_note", "create_note_url", "tag_markup"]

MAXIMUM_URL_BYTES = 500_000
"""Longest URL that is handed over. It is one argument of a process, of which macOS takes about 1 MB, and Bear becomes
very slow before that."""

_OPEN_TIMEOUT_S = 10


def tag_markup(tag: str) -> str:
    """A tag as it stands in a note: `#work`, and `#two words#` where the end would not be clear.

    Raises:
        UsageError: The tag is empty, or holds a line break or a `#`.

    >>> tag_markup("travel/night trains")
    '#travel/night trains#'
    """
    name = tag.strip().removeprefix("#").removesuffix("#").strip()
    if not name or "#" in name or len(name.splitlines()) != 1:
        raise UsageError(f"a tag is one line of text without '#', but {tag!r} came")
    return f"#{name}" if all(character.isalnum() or character in "/-_" for character in name) else f"#{name}#"


def create_note_url(*, title: str, content: str = "", tags: Sequence[str] = ()) -> str:
    """The URL that asks Bear to create a note, without opening it or coming to the front.

    The tags stand on the line below the title.

    Raises:
        UsageError: Title and content are both empty, a tag has no meaning, or the note is too long for a URL.
    """
    heading = " ".join(title.split())
    if not heading and not content.strip():
        raise UsageError("a note needs a title or some content, but both are empty")
    head = [f"# {heading}"] if heading else []
    if tags:
        head.append(" ".join(tag_markup(tag) for tag in tags))
    text = "\n".join(head) + ("\n\n" if head and content else "") + content
    fields = {"text": text, "open_note": "no", "show_window": "no"}
    url = "bear://x-callback-url/create?" + urlencode(fields, quote_via=quote, safe="")
    if len(url) > MAXIMUM_URL_BYTES:
        raise UsageError(
            f"the note is too long to hand to Bear: {len(url):,} bytes as a URL, at most {MAXIMUM_URL_BYTES:,}; "
            "create several shorter notes"
        )
    return url


def create_note(*, title: str, content: str = "", tags: Sequence[str] = ()) -> None:
    """Ask Bear to create a note, in the background.

    Raises:
        UsageError: As `create_note_url`.
        SourceNotFoundError: This system is not macOS, so there is no Bear.
        SourceError: macOS could not hand the URL over, for example because Bear is not installed.
    """
    url = create_note_url(title=title, content=content, tags=tags)
    if sys.platform != "darwin":
        raise SourceNotFoundError(
            f"notes are created by Bear, which runs on macOS only, and this system is {sys.platform}; "
            "show the user the text to keep instead"
        )
    try:
        # -g leaves the program in front where it is.
        done = subprocess.run(
            ["/usr/bin/open", "-g", url], capture_output=True, timeout=_OPEN_TIMEOUT_S, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(
            f"Bear could not be asked to create the note: {type(error).__name__}; start Bear and try again"
        ) from error
    if done.returncode != 0:
        raise SourceError(
            f"macOS could not hand the note to Bear (open exited with {done.returncode}); is Bear installed?"
        )

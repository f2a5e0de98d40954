"""Dates as people and models write them in a filter."""

from datetime import UTC, date, datetime

from bearsearch.errors import UsageError

__all__ = ["parse_date"]


def parse_date(text: str) -> date | datetime:
    """A day or a moment.

    Args:
        text: A day such as `2026-01-31`, or a moment such as `2026-01-31T18:30Z`; without a zone it is UTC.

    Raises:
        UsageError: It is neither.

    >>> parse_date("2026-01-31")
    datetime.date(2026, 1, 31)
    """
    text = text.strip()
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"a date is written 2026-01-31 or 2026-01-31T18:30Z, but {text!r} came") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

"""Pages: so many lines after the one of a certain number, and where the next page begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from starlette.datastructures import URL

T = TypeVar("T")


class Page(NamedTuple):
    """The lines whose numbers come after `after`, at most `limit` of them."""

    after: int
    limit: int

    def of(self, lines: Sequence[T], number: Callable[[T], int]) -> tuple[list[T], int | None]:
        """The lines on this page, of lines in the order of their numbers; and after which the next page begins."""
        left = [line for line in lines if number(line) > self.after]
        here = left[: self.limit]
        return here, number(here[-1]) if len(left) > len(here) else None


def answer(items: list[Any], total: int, following: int | None) -> dict[str, Any]:
    """The page as plain data; `next` is null on the last one."""
    return {"items": items, "total": total, "next": following}


def link(url: URL, following: int | None) -> dict[str, str]:
    """A Link header to the next page (RFC 8288), as a relative address; none on the last page."""
    if following is None:
        return {}
    further = url.include_query_params(after=following)
    return {"Link": f'<{further.path}?{further.query}>; rel="next"'}

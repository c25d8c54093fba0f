"""Pages: so many lines after the one of a certain number, and where the next page begins."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from starlette.types import Scope

T = TypeVar("T")


class Page(NamedTuple):
    """The lines whose numbers come after `after`, at most `limit` of them."""

    after: int
    limit: int

    def of(self, lines: Sequence[T], number: Callable[[T], int]) -> tuple[Sequence[T], int | None]:
        """The lines on this page, of lines in the order of their numbers; and after which the next page begins."""
        first = bisect.bisect_right(lines, self.after, key=number)
        here = lines[first : first + self.limit]
        return here, number(here[-1]) if first + len(here) < len(lines) else None


def answer(items: Sequence[Any], total: int, following: int | None) -> dict[str, Any]:
    """The page as plain data; `next` is null on the last one."""
    return {"items": items, "total": total, "next": following}


def link(scope: Scope, following: int | None) -> dict[str, str]:
    """A Link header to the next page (RFC 8288), as a relative address; none on the last page."""
    if following is None:
        return {}
    path = quote(scope["path"], safe="/")  # names of campaigns may be of any script, headers may not
    asked = [(name, x) for name, x in parse_qsl(scope["query_string"].decode("latin-1")) if name != "after"]
    return {"Link": f'<{path}?{urlencode([*asked, ("after", following)])}>; rel="next"'}

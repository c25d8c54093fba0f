"""One try: what is called, and how it ends."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

from maxentry.errors import MaxentryError

LONGEST = 300  # characters of a refusal
ENDINGS = ("accepted", "refused", "foreign", "changed", "long", "hang", "crash")
GOOD = ENDINGS[:2]


class Refusal(Exception):
    """A command or a server refused, in these words."""


class Foreign(Exception):
    """A command or a server ended by an error that nobody meant."""


@dataclass(frozen=True)
class Case:
    """A call; `digest` tells whether what it works on has changed."""

    what: str
    call: Callable[[], object]
    digest: Callable[[], object] = lambda: None


class Surface(Protocol):
    """A way in: it makes calls with odd values from a random generator."""

    def __init__(self, folder: Path) -> None: ...

    def case(self, rng: Random) -> Case:
        """The next call."""


class Ending(NamedTuple):
    """How a call ended: one of ENDINGS, and the words it said."""

    kind: str
    words: str = ""


def judge(case: Case) -> Ending:
    """Make a call, and say how it ended."""
    before = case.digest()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.call()
    except (MaxentryError, Refusal) as error:
        text = str(error)
        if case.digest() != before:
            return Ending("changed", text)
        return Ending("refused" if is_short(text) else "long", text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of polars is no Exception
        return Ending("foreign", f"{type(error).__name__}: {error} ({place(error)})")
    return Ending("accepted")


def is_short(text: str) -> bool:
    """Whether a refusal is one line of at most 300 characters."""
    return len(text) <= LONGEST and len(text.splitlines()) <= 1


def place(error: BaseException) -> str:
    """Where in the package an error came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "maxentry" in f.filename]
    inside = [f for f in frames if "/tests/" not in f.filename] or frames
    return f"{'/'.join(Path(inside[-1].filename).parts[-2:])}:{inside[-1].lineno}" if inside else "elsewhere"


def pick(rng: Random, good: Any, odd: Callable[[Random], Any], share: float = 0.5) -> Any:
    """An odd value in this share of cases, else the good one."""
    return odd(rng) if rng.random() < share else good

"""Tokens: who may read, and who may write. They are compared in constant time, and never shown."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from maxentry.errors import ParameterError

Scope = Literal["none", "read", "write"]
SHORTEST = 20  # characters; what `secrets.token_urlsafe(16)` has
HINT = "make one by: python -c 'import secrets; print(secrets.token_urlsafe(32))'"


@dataclass(frozen=True)
class Tokens:
    """The token for reading and the one for writing (and reading); without either, everybody may do everything."""

    read: str | None = field(default=None, repr=False)
    write: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, token in (("reading", self.read), ("writing", self.write)):
            if token is not None:
                _check(token, name)
        if self.read is not None and self.write is None:
            raise ParameterError("expected a token for writing beside the one for reading, but none came.")
        if self.read is not None and self.read == self.write:
            raise ParameterError(
                "expected different tokens for reading and for writing, but the same came twice."
            )

    @property
    def needed(self) -> bool:
        """Whether anybody must show one."""
        return self.write is not None

    def scope(self, shown: str | None) -> Scope:
        """What whoever shows this may do."""
        if not self.needed:
            return "write"
        mark = _mark(shown or "")
        # Both are compared whatever the first one says, so that the time taken tells nothing.
        reads = hmac.compare_digest(mark, _mark(self.read or ""))
        writes = hmac.compare_digest(mark, _mark(self.write or ""))
        if not shown:
            return "none"
        return "write" if writes else "read" if reads and self.read is not None else "none"


def from_file(path: str) -> str:
    """The token in a file, blanks around it aside."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ParameterError(f"expected a token in {path}, but {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"expected a token in {path}, but it is no text.") from None


def of_header(header: str | None) -> str | None:
    """The token in an `Authorization: Bearer …`, if that is what it is."""
    kind, _, token = (header or "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


def _mark(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _check(token: str, name: str) -> None:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError(
            f"expected a token for {name} of at least {SHORTEST} printable characters without blanks, but another "
            f"came; {HINT}."
        )

"""Fits at hand: the posteriors of one campaign, in memory and in its cache, each made once however many want it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from maxentry.campaign import fits as caching
from maxentry.campaign import fits as fitting
from maxentry.campaign.state import State
from maxentry.posterior.posterior import Posterior
from maxentry.progress import Watch


class Fit(NamedTuple):
    """A posterior, the event after which it holds, and whether nothing was told since."""

    posterior: Posterior
    version: int
    current: bool


class NotAtHandError(Exception):
    """It would have to be made."""


class SharedFits(caching.Memory):
    """The fits used last; who wants one that another thread is making waits for it rather than make it again."""

    def __init__(self, folder: Path | None, held: Callable[[], None] | None = None) -> None:
        super().__init__()
        self._folder, self._held = folder, held
        self._making: dict[str, int] = {}  # by which thread
        self._changed = threading.Condition()

    def get(self, name: str) -> Posterior | None:
        """The fit of this name; None where the caller is to make it."""
        with self._changed:
            while (kept := super().get(name)) is None and self._making.get(name, self._me) != self._me:
                self._changed.wait()
            if kept is None:
                self._making[name] = self._me
        if (
            kept is None
            and self._folder is not None
            and (kept := fitting._kept(self._folder, name)) is not None
        ):
            self._hold(name, kept)
        return kept

    def put(self, name: str, made: Posterior) -> None:
        """Keep a fit, for those who wait and for later."""
        self._hold(name, made)
        if self._folder is not None:
            fitting._keep(made, self._folder, name)

    def used(self, name: str) -> None:
        """Let go of the fit of this name later than of others, in the folder too."""
        super().used(name)
        if self._folder is not None:
            fitting._used(self._folder, name)

    def peek(self, name: str) -> Posterior | None:
        """The fit of this name if it is in memory, without waiting."""
        return super().get(name)

    def give_up(self) -> None:
        """Leave what this thread was making, if anything, to others."""
        with self._changed:
            self._making = {name: thread for name, thread in self._making.items() if thread != self._me}
            self._changed.notify_all()

    def _hold(self, name: str, made: Posterior) -> None:
        with self._changed:
            super().put(name, made)
            self._making.pop(name, None)
            self._changed.notify_all()
        if self._held is not None:
            self._held()

    def forget(self) -> None:
        """Let go of what is in memory."""
        with self._turn:
            self._fits.clear()

    @property
    def _me(self) -> int:
        return threading.get_ident()


class _Peek(caching.Memory):
    """A cache that makes nothing: what is not there ends the look."""

    def __init__(self, fits: SharedFits) -> None:
        super().__init__()
        self._behind = fits

    def get(self, name: str) -> Posterior:
        """The fit of this name, or the end of it."""
        kept = self._behind.peek(name)
        if kept is None:
            raise NotAtHandError
        return kept


class Fits:
    """The posteriors of one campaign as a server needs them; `held` is told whenever one is in memory."""

    def __init__(self, folder: Path | None, held: Callable[[], None] | None = None) -> None:
        self.shared = SharedFits(folder, held)
        self._latest: Fit | None = None
        self._turn = threading.Lock()

    def at_hand(self, state: State) -> Fit | None:
        """The posterior of all that was told, if it need not be made."""
        try:
            return Fit(fitting.posterior(state, _Peek(self.shared)), state.version, True)
        except NotAtHandError:
            return None

    def latest(self, state: State) -> Fit | None:
        """The posterior of all that was told, else the last one that was made here."""
        return self.at_hand(state) or self._latest

    def make(self, state: State, watch: Watch) -> Posterior:
        """The posterior of all that was told; progress goes to `watch`."""
        try:
            # `progress` reaches `progress.track` as it is, which takes a function too.
            made = fitting.posterior(state, self.shared, progress=watch)  # type: ignore[arg-type]
        finally:
            self.shared.give_up()
        self._note(made, state)
        return made

    def note(self, state: State) -> None:
        """Remember the posterior of this state as the last one, if work for something else has made it."""
        if state.standing and (found := self.at_hand(state)) is not None:
            self._note(found.posterior, state)

    def forget(self) -> None:
        """Let go of what is in memory."""
        self.shared.forget()
        with self._turn:
            self._latest = None

    def _note(self, made: Posterior, state: State) -> None:
        with self._turn:
            if self._latest is None or self._latest.version <= state.version:
                self._latest = Fit(made, state.version, False)

"""The failures a user can act on, one class each; every message says what was expected and what came."""


class MaxentryError(Exception):
    """Base class of all errors that maxentry raises on purpose."""


class DataError(MaxentryError, ValueError):
    """The observations cannot be used: wrong type, shape, label or value."""


class LabelError(MaxentryError, KeyError):
    """A row or column label is not known."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class RankError(MaxentryError, ValueError):
    """The rank cannot be used with a matrix of this shape."""


class ParameterError(MaxentryError, ValueError):
    """An option has a value it cannot have."""


class MissingDependencyError(MaxentryError, ImportError):
    """An optional package is needed; the message names the extra to install."""


class SizeError(MaxentryError, MemoryError):
    """What was asked for would not fit in memory; the message says what to ask for instead."""


class CampaignError(MaxentryError):
    """What was asked of a campaign contradicts what it knows; nothing was changed."""


class NothingToAskError(CampaignError):
    """A campaign has no entry left to ask for; the message says why."""


class StorageError(MaxentryError, OSError):
    """Where campaigns are kept cannot be opened, read or written."""

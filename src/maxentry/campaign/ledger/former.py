"""Former labels of rows and columns that were renamed, so that lists from before the renaming are understood."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from maxentry.campaign.events import Added, ColsAdded, ColsRemoved, ColsRenamed, Listed, Relabelled
from maxentry.labels import Labels, label_text

Former = Mapping[str, Any]


@dataclass(frozen=True)
class FormerLabels:
    """The labels that rows and columns had, as text, each with the label now.

    None stands beside a label that has meant several rows (or columns), or one that was removed.
    """

    rows: Former = field(default_factory=dict)
    cols: Former = field(default_factory=dict)

    def after(self, event: Listed, removed: tuple[Labels, Labels]) -> FormerLabels:
        """Return the former labels after an event about rows or columns; removed: those that were removed before."""
        side = "cols" if isinstance(event, ColsAdded | ColsRemoved | ColsRenamed) else "rows"
        known: Former = getattr(self, side)
        if isinstance(event, Relabelled):
            names = dict(zip(event.labels, event.names, strict=True))
            gone = {label_text(label) for label in removed[side == "cols"]}
            return replace(self, **{side: _rename(known, names, gone)})
        if not known:
            return self
        here = {label_text(label) for label in event.labels}
        if isinstance(event, Added):
            return replace(self, **{side: {x: None if x in here else now for x, now in known.items()}})
        return replace(
            self, **{side: {x: None if label_text(now) in here else now for x, now in known.items()}}
        )


NO_FORMER = FormerLabels()


def _rename(known: Former, names: Mapping[Any, Any], gone: Set[str]) -> Former:
    """Return the former labels once others are used, which `names` gives by the ones now.

    gone: labels of removed rows (or columns), as text; another row that has one of them shares it with these.
    """
    others = {label_text(old): new for old, new in names.items()}
    former = {x: now if now is None else others.get(label_text(now), now) for x, now in known.items()}
    for text, new in others.items():
        shared = text in gone or (text in former and not _alike(former[text], new))
        former[text] = None if shared else new
    for new in names.values():
        text = label_text(new)
        if text in gone or (text in former and not _alike(former[text], new)):
            former[text] = None
    return former


def _alike(label: Any, other: Any) -> bool:
    return label is not None and label_text(label) == label_text(other)

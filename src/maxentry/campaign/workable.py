"""Settings that are well-formed and still cannot work: refused when they are chosen, before anything is paid for.

Events of older versions are replayed without these checks, so that a stricter one closes no campaign.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maxentry.campaign.settings import CHANGEABLE, Settings
from maxentry.errors import DataError, ParameterError, RankError
from maxentry.observations.labels import Labels
from maxentry.posterior import label_codec
from maxentry.transform import LARGEST, SMALLEST, Transform

LONGEST_LEASE = 100 * 365.25 * 86400.0  # seconds


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """These settings with others in their place, checked: only those in CHANGEABLE, and only what can work."""
    for name in changes:
        if name not in CHANGEABLE:
            known = ", ".join(CHANGEABLE)
            raise ParameterError(f"expected a setting that may change ({known}), but {name!r} came.")
    return checked(replace(settings, **changes))


def checked(settings: Settings) -> Settings:
    """The settings, if a campaign with them can be asked, told and fitted."""
    for labels in (settings.rows, settings.cols):
        _check_text(labels)
    _check_rank(settings)
    _check_limits(settings)
    _check_values(settings)
    return settings


def _check_text(labels: Labels) -> None:
    try:
        json.dumps(label_codec.encode(labels), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise DataError(f"expected labels that are text in UTF-8, but {wrong!a} came in one.") from None


def _check_rank(settings: Settings) -> None:
    """As `posterior.conjugate.check_rank`, which cannot be had without loading the sampler."""
    m1, m2 = settings.shape
    most = min(m1, m2) // 2
    if settings.rank == "auto":
        return
    if settings.rank > most:
        raise RankError(
            f"expected rank 'auto' or at most {most}, half the shorter side of a {m1} x {m2} matrix, but "
            f"{settings.rank} came."
        )
    if settings.rank == 0 and not settings.effects:
        raise RankError(
            "expected row and column effects with rank 0, but effects=False leaves nothing to fit."
        )


def _check_limits(settings: Settings) -> None:
    m1, m2 = settings.shape
    limits = [f"{name}={x}" for name in ("per_row", "per_col") if (x := getattr(settings, name)) is not None]
    if settings.plates is not None and limits:
        raise ParameterError(
            f"expected plates or limits per row and column, but plates={settings.plates!r} and {limits[0]} came."
        )
    if settings.n_initial is not None and settings.n_initial > m1 * m2:
        raise ParameterError(
            f"expected n_initial of at most all {m1 * m2} entries, but {settings.n_initial} came."
        )
    if settings.lease is not None and settings.lease > LONGEST_LEASE:
        raise ParameterError(f"expected a lease of at most 100 years, but {settings.lease:g} seconds came.")


def _check_values(settings: Settings) -> None:
    """Some value must be in the range and on the scale."""
    low, high = settings.range or (-math.inf, math.inf)
    scale = Transform.of(settings.transform)
    if scale.kind == "log":
        some = low <= LARGEST and high >= SMALLEST
    elif scale.kind == "logit":
        some = low < scale.high and high > scale.low
    else:
        some = low < math.inf and high > -math.inf
    if not some:
        raise ParameterError(
            f"expected a range with values for the {scale} scale, but none from {low:g} to {high:g} has a place there."
        )

"""Designs by label: a mask that came in a frame is answered by a frame of its labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from maxentry import frames
from maxentry.entries import Entries

P = ParamSpec("P")


def by_label(design: Callable[P, Entries]) -> Callable[P, Entries | Any]:
    """The design as it is for arrays; for a mask in a frame, a frame of row and col by its labels."""
    known = signature(design)

    @wraps(design)
    def answered(*args: P.args, **given: P.kwargs) -> Entries | Any:
        call = known.bind(*args, **given)
        mask = call.arguments.get("mask")
        if frames.kind_of(mask) is None:
            return design(*args, **given)
        form, cells = frames.Form.read(mask)
        call.arguments["mask"] = frames.as_flags(cells)
        return form.entries(*design(*call.args, **call.kwargs), {})

    return answered

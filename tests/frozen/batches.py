"""Batches that each way to choose gives: from draws at hand, and through campaigns with a seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tests.frozen import doors
from tests.frozen.draws import MASK, Y
from tests.frozen.records import rounded

from maxentry import Campaign

SHAPE = (12, 8)
NAMES = ("predictive_variance", "integrated_variance", "maxent", "maxent_nearest", "uniform", "balanced")


def _draws() -> dict[str, Any]:
    """Draws of a matrix of rank 2, rounded, so that they are the same everywhere."""
    rng = np.random.default_rng(21)
    shapes = {"left": (20, 12, 2), "right": (20, 8, 2), "row": (20, 12), "col": (20, 8), "mu": (20,)}
    spread = {"left": 1.0, "right": 1.0, "row": 0.3, "col": 0.2, "mu": 0.1}
    centre = {name: rng.normal(size=shape[1:]) for name, shape in shapes.items()}
    made = {
        name: np.round(centre[name] + spread[name] * rng.normal(size=shape), 3)
        for name, shape in shapes.items()
    }
    return made | {"noise_var": np.round(rng.uniform(0.05, 0.2, 20), 3)}


ROW_COSTS, COL_COSTS = np.linspace(1, 3, 12), np.linspace(2, 1, 8)
ENTRY_COSTS = 1 + (np.arange(96).reshape(SHAPE) * 7 % 11) / 5
OBSERVED = (list(range(12)), [k % 8 for k in range(12)])
PENDING = ([1, 4, 7], [5, 0, 3])
QUESTIONS: dict[str, dict[str, Any]] = {
    "free": {},
    "observed and pending": {"observed": OBSERVED, "pending": PENDING},
    "mask": {"observed": OBSERVED, "mask": MASK},
    "again": {"observed": OBSERVED, "pending": PENDING, "again": True},
    "costs of rows and columns": {"observed": OBSERVED, "costs": {"row": ROW_COSTS, "col": COL_COSTS}},
    "costs of entries": {
        "observed": OBSERVED,
        "pending": PENDING,
        "costs": {"entry": ENTRY_COSTS},
        "mask": MASK,
    },
    "limits": {"observed": OBSERVED, "limits": {"per_row": 1, "per_col": 2}},
    "plates of rows": {"observed": OBSERVED, "pending": PENDING, "limits": {"plates": "rows"}},
    "plates of columns with costs": {"mask": MASK, "limits": {"plates": "cols"}, "costs": {"row": ROW_COSTS}},
}


def chosen(name: str, question: str) -> dict[str, Any]:
    """The batch of one criterion and one question."""
    given = QUESTIONS[question]
    n = 2 if "plates" in given.get("limits", {}) else 6
    batch = doors.choose(name, _draws(), n, shape=SHAPE, **given)
    return rounded(batch)


def asked(
    *,
    n: int = 5,
    limits: dict[str, Any] | None = None,
    pending: int = 0,
    told: int = 40,
    outlook: bool = False,
    then: bool = False,
    values: Any = Y,
    **settings: Any,
) -> dict[str, Any]:
    """What a campaign asks for next; `then` also after that was told in part."""
    rows, cols = np.nonzero(~np.isnan(values))
    order = np.random.default_rng(1).permutation(len(rows))[:told]
    rows, cols = rows[order].tolist(), cols[order].tolist()
    table = {
        "row": rows,
        "col": cols,
        "value": [float(values[i, j]) for i, j in zip(rows, cols, strict=True)],
    }
    given = {"seed": 9, "rank": 1} | settings
    with Campaign.create(
        "sqlite://", "frozen", *SHAPE, values=table if told else None, frame="columns", **given
    ) as campaign:
        if pending:
            campaign.ask(pending, progress=False)
        first = campaign.ask(n, progress=False, **(limits or {}))
        answer = {"first": first}
        if then:
            half = len(first["id"]) // 2
            campaign.tell(first["id"][:half], [0.5 + 0.25 * k for k in range(half)])
            answer["second"] = campaign.ask(n, progress=False, **(limits or {}))
        if outlook:
            found = campaign.outlook(4, progress=False).to_dict()["outlook"]
            answer["outlook"] = found
    return rounded(answer)


COSTS = {"row": ROW_COSTS, "col": COL_COSTS}
CAMPAIGNS: dict[str, Callable[[], Any]] = {
    **{name: partial(asked, acquisition=name) for name in NAMES},
    "costs": partial(asked, costs=COSTS, then=True),
    "limits": partial(asked, limits={"per_row": 1, "per_col": 2}),
    "limits of the settings": partial(asked, acquisition="balanced", per_row=1),
    "plates": partial(asked, n=2, limits={"plates": "rows"}, acquisition="balanced", then=True),
    "plates of the settings": partial(asked, n=1, plates="cols", acquisition="integrated_variance"),
    "pending": partial(asked, pending=4, then=True),
    "mask": partial(asked, mask=MASK | ~np.isnan(Y), told=30),
    "again": partial(asked, again=True),
    "initial design": partial(asked, told=0, n=6, then=True),
    "initial design of a mask": partial(asked, told=0, n=6, mask=MASK),
    "rank auto, student, outlook": partial(asked, rank="auto", noise="student", outlook=True),
    "the paper's": partial(asked, effects=False, priors="paper", acquisition="maxent", n=1, rank=2),
    "budget and target": partial(asked, budget=60.0, target_sd=0.01, outlook=True),
}  # fmt: skip
CASES: dict[str, Callable[[], Any]] = {
    **{f"choose, {name}, {question}": partial(chosen, name, question) for name in NAMES for question in QUESTIONS},
    **{f"campaign, {name}": make for name, make in CAMPAIGNS.items()},
}  # fmt: skip

"""Settings that cannot work are refused when they are chosen, not when values have been paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.campaign.stand_ins import campaign

from maxentry.campaign import settings as workable
from maxentry.campaign.settings import Settings
from maxentry.errors import MaxentryError, ParameterError, RankError
from maxentry.posterior.rank import check_rank

UNWORKABLE = [
    ({"rank": 3}, "at most 2, half the shorter side of a 5 x 4 matrix, got 3"),
    ({"rank": 0, "effects": False}, "nothing to fit"),
    ({"plates": "rows", "per_row": 1}, "plates='rows' and per_row=1"),
    ({"plates": "cols", "per_col": 2}, "plates='cols' and per_col=2"),
    ({"lease": 1e300}, "at most 100 years"),
]
ONLY_AT_FIRST: list[tuple[dict[str, Any], str]] = [
    ({"n_initial": 21}, "at most all 20 entries, got 21"),
    ({"transform": "log", "range": (-5, -1)}, "got -5 to -1"),
    ({"transform": "log", "range": (-5, 0)}, "got -5 to 0"),
    ({"transform": "logit(0, 100)", "range": (100, 200)}, "got 100 to 200"),
    ({"rows": ["a", "b\udcff"]}, "UTF-8"),
    ({"cols": [("a", "b\udcff"), 2]}, "UTF-8"),
]
WORKABLE: list[dict[str, Any]] = [
    {"rank": 2},
    {"rank": 0},
    {"rank": 2, "effects": False},
    {"plates": "rows"},
    {"per_row": 1, "per_col": 9},
    {"lease": 86400.0 * 365 * 99},
    {"n_initial": 20},
    {"n_initial": 0},
    {"transform": "log", "range": (0, 1e-9)},
    {"transform": "percent", "range": (-10, 10)},
    {"range": (float("-inf"), 0)},
    {"rows": ["α", "🧪"]},
]


@pytest.mark.parametrize(("wrong", "match"), UNWORKABLE + ONLY_AT_FIRST)
def test_refused_at_the_beginning_before_a_file_is_made(
    wrong: dict[str, Any], match: str, tmp_path: Path
) -> None:
    with pytest.raises(MaxentryError, match=match):
        campaign(tmp_path / "lab.db", **({"rows": 5, "cols": 4} | wrong))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("wrong", "match"), UNWORKABLE)
def test_refused_when_settings_change(wrong: dict[str, Any], match: str) -> None:
    with campaign(rows=5, cols=4) as c:
        with pytest.raises(MaxentryError, match=match):
            c.set(**wrong)
        assert c.state.version == 1


def test_a_change_is_judged_with_what_stays() -> None:
    with campaign(rows=5, cols=4, transform="log", plates="rows") as c:
        for wrong in ({"per_row": 1}, {"range": (-5, -1)}):
            with pytest.raises(ParameterError):
                c.set(**wrong)
        c.set(plates=None, per_row=1)
        assert c.settings.per_row == 1


@pytest.mark.parametrize("fine", WORKABLE)
def test_what_can_work_is_taken(fine: dict[str, Any]) -> None:
    with campaign(**({"rows": 5, "cols": 4} | fine)) as c:
        c.ask(1)


@pytest.mark.parametrize("effects", [True, False])
@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("shape", [(2, 2), (5, 4), (3, 9)])
def test_ranks_are_those_of_the_sampler(shape: tuple[int, int], rank: int, effects: bool) -> None:
    def refused(check: Any, *given: Any) -> bool:
        try:
            check(*given)
        except RankError:
            return True
        return False

    settings = Settings("k", *shape, 1, rank=rank, effects=effects)  # type: ignore[arg-type]
    assert refused(workable.check_settings, settings) == refused(check_rank, rank, shape, effects)

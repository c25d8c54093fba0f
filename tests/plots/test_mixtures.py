"""Where ranks are mixed, figures and the page say so, and never that there is nothing to show."""

import dataclasses
import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.campaign.examples import begun
from tests.plots.examples import mixed, small

from maxentry import plots
from maxentry.cli import complete as cli
from maxentry.model.entropy import coherence
from maxentry.plots import report
from maxentry.plots.plot import Subject
from maxentry.plots.records import Chart
from maxentry.posterior.diagnostics import THOROUGH
from maxentry.posterior.posterior import Posterior
from maxentry.wording import count

SHARES = "ranks 0 (50% of chains), 1 (25% of chains), 2 (25% of chains)"
CODE = re.compile(r"dataclasses|sampling=|thin=|\.predictive_interval|\.interval|rank=")


def chart(plot: plots.Plot) -> Chart:
    assert isinstance(plot.record, Chart)
    return plot.record


def test_coherence_is_that_of_the_chains_with_a_low_rank_part() -> None:
    posterior = mixed((0.5, 0.0, 0.5))
    assert posterior.rank == 0
    which = [c for c, chain in enumerate(posterior.chains) if chain.rank == 2]
    left = posterior.draws.left[which].reshape(-1, 12, 2)
    expected = np.mean([coherence(np.linalg.qr(A)[0]) for A in left], axis=0)
    shown = chart(plots.coherence(posterior))
    rows, _ = shown.panels
    np.testing.assert_allclose(rows.series[1].x, np.sort(expected)[::-1] * 12 / 2, rtol=1e-6)
    assert shown.note.endswith("Of the chains of rank 2; ranks 0 (50% of chains), 2 (50% of chains)")


def test_of_several_ranks_the_one_with_most_chains_is_shown() -> None:
    shown = chart(plots.coherence(mixed((0.0, 0.25, 0.75))))
    assert shown.note.endswith("Of the chains of rank 2; ranks 1 (25% of chains), 2 (75% of chains)")
    assert "chains of rank" not in chart(plots.coherence(small())).note


def test_chains_of_different_ranks_need_not_cover_the_same_range() -> None:
    note = chart(plots.trace(mixed())).note
    assert "those of one rank should cover the same range and not drift" in note
    assert SHARES in note
    assert chart(plots.trace(small())).note.endswith("; rank 2")


def test_singular_values_say_what_the_lower_ranks_count_as() -> None:
    note = chart(plots.singular_values(mixed())).note
    assert SHARES in note
    assert note.endswith("what a chain of lower rank lacks counts as 0")
    assert chart(plots.singular_values(small())).note.endswith("rank 2")


def trust(posterior: Posterior) -> str:
    """All that the page says of how far to trust this posterior."""
    section = report.describe_trust(posterior)
    section |= report.sampler_section(Subject.check(posterior), lambda _: "")
    notes = [text for card in section["figures"] for text in (card.caption, card.note)]
    return "\n".join(
        [section["sampler"], section["note"], *notes, *(f"{a}: {b}" for a, b in section["facts"])]
    )


def test_the_page_tells_the_shares_and_does_not_deny_the_patterns() -> None:
    text = trust(mixed())
    assert "50% of the chains have none, 50% have a low-rank part" in text
    assert "little beyond" not in text
    assert "has rank 0" not in text
    alone = trust(small(rank=0))
    assert "The data show little beyond row and column means" in alone
    assert "has rank 0" in alone
    assert report.rank_0_note(small()) == ""


def test_python_tells_the_share_too() -> None:
    assert "note: 50% of the chains have row and column means alone" in repr(mixed())
    assert "note: the data show little beyond row and column means" in repr(small(rank=0))
    assert "note" not in repr(small())


@pytest.mark.parametrize("rank", [0, None])
def test_the_page_and_the_command_line_advise_in_words_and_python_in_code(rank: int | None) -> None:
    posterior = mixed() if rank is None else small(rank=rank)
    said = f"Intervals were still moving: run with {THOROUGH}."
    unhappy = dataclasses.replace(posterior.diagnostics, converged=False, advice=said)
    with mock.patch.dict(posterior.__dict__, {"diagnostics": unhappy}):
        assert THOROUGH in repr(posterior)
        text = trust(posterior)
        facts, line = cli.list_facts(posterior), cli.summarize(posterior)
    assert "The fit has not settled. Intervals were still moving: run with the effort 'thorough'." in text
    assert not CODE.search(text)
    assert facts["advice"] == "Intervals were still moving: run with --effort thorough."
    assert facts["advice"] in line


def test_one_is_not_many() -> None:
    assert [count(n, "event") for n in (0, 1, 1200)] == ["0 events", "1 event", "1,200 events"]
    campaign = begun()
    assert campaign.status().events == 1
    assert "\n  1 event from" in str(campaign.status())
    text = report.render_report(campaign, n=2)
    assert not re.search(r"\b1 events", text)
    assert ">1 event from" in text
    campaign.tell(row=[0], col=[0], value=[1.0])
    assert "1 measurement in 2 events" in chart(plots.history(campaign, points=0)).note


def test_all_that_the_command_line_says_is_without_that_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "completed.csv")
    settings: dict[str, Any] = {"wide": True, "what": "mean", "level": 0.9, "as_json": False, "save": None}
    cli.write_posterior(small(), out, None, **settings, force=False, verbose=True)
    said = "".join(capsys.readouterr()).replace("\n", " ")
    assert "--effort thorough" in said
    assert "worst R-hat" in said
    assert "dataclasses" not in said

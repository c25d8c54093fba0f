"""Runs that are too short go on by themselves, up to a limit of work; effort says how long to sample."""

import errno
import sys
from dataclasses import replace

import numpy as np
import pytest

from maxentry import Posterior, Sampling, complete
from maxentry.errors import ParameterError
from maxentry.posterior.draws import FolderStore
from maxentry.posterior.schedule import ROUNDS

complete_module = sys.modules["maxentry.posterior.complete"]


def table(seed=0, shape=(20, 12)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    return np.where(rng.random(shape) < 0.6, X + 0.1 * rng.normal(size=shape), np.nan)


@pytest.fixture
def moving(monkeypatch):
    """Say that intervals move, so many times."""

    def say(times):
        answers = iter([*["the noise by -9%"] * times, *[""] * 10])
        monkeypatch.setattr(complete_module, "find_movement", lambda x, eta2: next(answers))

    return say


def test_a_run_whose_intervals_move_goes_on_twice_as_long(moving):
    moving(0)
    short = complete(table(), 1, seed=0, progress=False)
    moving(1)
    watch = ([0, 1], [0, 1])
    longer = complete(table(), 1, seed=0, progress=False, watch=watch)
    a, b = short.sampling, longer.sampling
    assert (b.chains, b.draws, b.anneal, b.thin) == (a.chains, a.draws, a.anneal, 2 * a.thin)
    assert b.sweeps == a.sweeps + 3 * a.draws * a.thin
    assert longer.draws.mu.shape == short.draws.mu.shape
    assert longer.watched.count.tolist() == [b.draws * b.thin] * b.chains
    assert not np.array_equal(longer.draws.mu, short.draws.mu)


def test_it_is_the_same_again_and_ends(moving):
    moving(9)
    first = complete(table(), 1, seed=0, progress=False, threads=1)
    moving(9)
    again = complete(table(), 1, seed=0, progress=False, threads=2)
    assert np.array_equal(first.draws.left, again.draws.left)
    assert first.sampling.thin == 2 ** ROUNDS["normal"] * 12


def test_it_goes_on_in_a_store_as_in_memory(moving, tmp_path):
    moving(9)
    plain = complete(table(), 1, seed=0, progress=False)
    moving(9)
    stored = complete(table(), 1, seed=0, progress=False, store=tmp_path / "fit")
    again = Posterior.load(tmp_path / "fit")
    assert stored.sampling == plain.sampling == again.sampling
    for a, b, c in zip(plain.draws, stored.draws, again.draws, strict=True):
        assert a is b is c or (np.array_equal(a, b) and np.array_equal(a, c))
    assert sorted(file.name for file in (tmp_path / "fit").iterdir()) == [
        "col.npy", "left.npy", "posterior.npz", "right.npy", "row.npy",
    ]  # fmt: skip


def test_a_store_without_room_for_more_keeps_what_it_has(moving, tmp_path, monkeypatch):
    moving(0)
    plain = complete(table(), 1, seed=0, progress=False)
    moving(9)
    zeros = FolderStore.zeros

    def full(self, *arguments):
        if self.path.name == "aside":
            raise OSError(errno.ENOSPC, "No space left on device")
        return zeros(self, *arguments)

    monkeypatch.setattr(FolderStore, "zeros", full)
    stored = complete(table(), 1, seed=0, progress=False, store=tmp_path / "fit")
    assert np.array_equal(stored.draws.left, plain.draws.left)
    assert not (tmp_path / "fit" / "aside").exists()


def test_work_is_limited(moving, monkeypatch):
    monkeypatch.setattr(complete_module, "WORK", 1.0)
    moving(9)
    assert complete(table(), 1, seed=0, progress=False).sampling.thin == 12


def test_efforts_differ_in_length_and_quick_does_not_go_on(moving):
    moving(9)
    quick = complete(table(), 1, seed=0, progress=False, effort="quick").sampling
    assert quick == Sampling("population", 32, 75, 100, 12, 6)
    moving(0)
    thorough = complete(table(), 1, seed=0, progress=False, effort="thorough").sampling
    assert thorough == Sampling("population", 32, 600, 800, 12, 48)


def test_a_given_sampling_is_run_as_it_is(moving):
    moving(9)
    plan = Sampling(chains=8, anneal=10, settle=10, draws=6, thin=1)
    assert complete(table(), 1, seed=0, progress=False, sampling=plan).sampling == plan
    with pytest.raises(ParameterError, match="says itself how long"):
        complete(table(), 1, sampling=plan, effort="thorough")
    with pytest.raises(ParameterError, match="effort must be 'quick', 'normal' or 'thorough', got 'fast'"):
        complete(table(), 1, effort="fast")


@pytest.mark.parametrize(
    "plan",
    [Sampling(anneal=4, settle=0, draws=8, thin=1), Sampling(chains=4)],
    ids=["too short", "too few chains"],
)
def test_planted_failures_are_told(plan):
    told = [
        not complete(table(s), 2, seed=s, progress=False, sampling=plan).diagnostics.converged
        for s in range(5)
    ]
    assert all(told)


def test_a_default_fit_of_a_plain_table_has_converged():
    record = complete(table(), 2, seed=0, progress=False).diagnostics
    assert record.converged, record.advice
    assert record.mean_error < 0.1


@pytest.mark.parametrize("when", ["before the first draw", "later"])
def test_an_interrupt_while_it_goes_on_keeps_what_was_drawn(moving, monkeypatch, when):
    moving(0)
    whole = complete(table(), 1, seed=0, progress=False)
    moving(1)
    run = complete_module._run

    def interrupt(started, data, priors_of, plan, what, *rest, **options):
        if what == "going on" and when == "before the first draw":
            raise KeyboardInterrupt
        found = run(started, data, priors_of, plan, what, *rest, **options)
        return replace(found, interrupted=True) if what == "going on" else found

    monkeypatch.setattr(complete_module, "_run", interrupt)
    posterior = complete(table(), 1, seed=0, progress=False)
    assert posterior.interrupted
    assert np.array_equal(posterior.draws.left, whole.draws.left)

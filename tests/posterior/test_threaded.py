"""Sweeps shared by threads have the bits of those that are not."""

import itertools
import threading
import time
from functools import partial

import numpy as np
import pytest
from numba import njit
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import complete
from maxentry._io import ThreadTeam
from maxentry.kernels.simd import LANES, fetch_and_increment
from maxentry.model.likelihood import Likelihood
from maxentry.observations import Observations
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import ModelSpec
from maxentry.posterior.gibbs import BLOCKS, block_edges


def swept(team, noise, effects, rank):
    """The state and the draws after a few sweeps of a matrix with long, short and empty rows."""
    rng = np.random.default_rng(0)
    m1, m2, n = 700, 90, 4000
    rows, cols = (m1 * rng.random(n) ** 3).astype(int), rng.integers(0, m2 - 3, n)
    fit = ModelSpec(Likelihood(noise=noise), effects=effects).in_units_of(
        obs := Observations((m1, m2), rows, cols, rng.standard_normal(n))
    )
    data, priors = fit.data(obs), fit.priors_of(obs.shape)
    (chain,) = chains.spawn_chains(np.random.SeedSequence(1), data, [rank], priors)
    kept = gibbs.DrawBuffers(*(np.zeros((2, *tail)) for tail in ((m1, rank), (m2, rank), (m1,), (m2,), (8,))))
    hyper, rng = gibbs.hyperparameters(priors(rank)), chain.generator()
    state = gibbs.step(chain.state, data, rank, hyper, rng, np.full(4, 0.8), kept, 2, None, team)
    return [*state, *kept, rng.random(1)]


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize(("noise", "effects"), [("gaussian", True), ("gaussian", False), ("student", True)])
def test_any_number_of_threads_draws_what_one_compiled_loop_draws(noise, effects, rank):
    if rank == 0 and not effects:
        return  # nothing to fit
    alone = swept(None, noise, effects, rank)
    for threads in (1, 2, 3):
        with ThreadTeam(threads) as team:
            for one, other in zip(alone, swept(team, noise, effects, rank), strict=True):
                np.testing.assert_array_equal(one, other)


def test_chains_share_their_sweeps_where_threads_are_left_and_draw_the_same(monkeypatch):
    Y, teams = low_rank()[1], []

    class Counted(ThreadTeam):
        def __init__(self, threads):
            teams.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(chains, "ThreadTeam", Counted)
    alone = complete(Y, 2, sampling=SHORT, seed=3, threads=9)
    assert teams == []  # sweeps of a small matrix are too short to share
    monkeypatch.setattr(chains, "SHARED_WORK", 0.0)
    assert equal(alone, complete(Y, 2, sampling=SHORT, seed=3, threads=9))
    assert teams == [2] * SHORT.chains  # nine threads for four chains
    assert equal(alone, complete(Y, 2, sampling=SHORT, seed=3, threads=5))
    assert teams == [2] * SHORT.chains


@pytest.mark.parametrize("seed", range(5))
def test_blocks_cover_the_rows_once_and_are_of_like_work(seed):
    rng = np.random.default_rng(seed)
    lengths = (1000 * rng.random(rng.integers(1, 5000)) ** 4).astype(int)
    edges = block_edges(np.append(0, np.cumsum(lengths)), 9)
    assert (edges[0], edges[-1]) == (0, lengths.size)
    assert (np.diff(edges) > 0).all()
    assert (edges[:-1] % LANES == 0).all()
    work = np.array([(lengths[a:b] * 81.0 + 909).sum() for a, b in itertools.pairwise(edges)])
    one_group = LANES * (1000 * 81.0 + 909)
    assert work.max() <= work.sum() / BLOCKS + 2 * one_group


@njit(nogil=True)
def taken(counter, n, mine):
    k = fetch_and_increment(counter)
    while k < n:
        mine[k] += 1
        k = fetch_and_increment(counter)


def test_every_number_is_dealt_out_once():
    """Threads take numbers at once; were two given the same, or one left out, the sums would show it."""
    n, meeting = 400_000, threading.Barrier(3, timeout=30)
    taken(np.zeros(1, np.int64), 1, np.zeros(1, np.int64))  # compiled

    def task(counter, mine):
        meeting.wait()
        taken(counter, n, mine)

    for _ in range(200):  # on a busy machine one thread may be done before the others are woken
        counter, mine = np.zeros(1, np.int64), np.zeros((3, n), np.int64)
        with ThreadTeam(3) as team:
            team.share([partial(task, counter, each) for each in mine])
        assert (mine.sum(0) == 1).all()
        if (mine.sum(1) > 0).sum() > 1:
            return
    pytest.fail("no two threads were at work at once")


def test_a_team_does_every_task_once_and_together():
    done, lock, meeting = [], threading.Lock(), threading.Barrier(3, timeout=30)

    def task(k):
        if k < 3:
            meeting.wait()  # passes only if three threads are in it at once
        with lock:
            done.append(k)

    with ThreadTeam(3) as team:
        team.share([lambda k=k: task(k) for k in range(20)])
        assert sorted(done) == list(range(20))


def test_what_goes_wrong_in_a_helper_comes_out():
    def broken():
        raise ArithmeticError("a row broke")

    def slow():
        time.sleep(0.2)

    with ThreadTeam(2) as team, pytest.raises(ArithmeticError, match="a row broke"):
        team.share([slow, broken])
    with ThreadTeam(2) as team, pytest.raises(ArithmeticError, match="a row broke"):
        team.share([broken, slow])

"""Chains: the same draws for any number of threads, going on where they stopped, interrupted without loss."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import Posterior, Sampling, complete
from maxentry.errors import ParameterError
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import draws_in_user_units
from maxentry.posterior.gibbs import DrawBuffers
from maxentry.progress import track

Y = low_rank()[1]


@pytest.mark.parametrize("noise", ["gaussian", "student"])
def test_the_same_seed_gives_the_same_draws_for_any_number_of_threads(noise):
    one, two, five = (complete(Y, 2, noise=noise, sampling=SHORT, seed=7, threads=t) for t in (1, 2, 5))
    assert equal(one, two)
    assert equal(one, five)
    assert one.draws.left.shape == (SHORT.chains, SHORT.draws, 12, 2)


def test_different_seeds_and_chains_differ():
    one, other = (complete(Y, 1, sampling=SHORT, seed=s) for s in (1, 2))
    assert not np.any(one.draws.mu == other.draws.mu)
    assert len(np.unique(one.draws.mu)) == SHORT.chains * SHORT.draws
    free, again = (complete(Y, 1, sampling=SHORT) for _ in range(2))
    # as sets: a chain of one may be stuck, and left out
    assert np.intersect1d(free.draws.mu, again.draws.mu).size == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_how_often_a_chain_looks_up_does_not_change_its_draws(monkeypatch, threads):
    whole = complete(Y, 2, sampling=SHORT, seed=1)
    monkeypatch.setattr(chains, "CHUNK_WORK", 1.0)
    assert equal(whole, complete(Y, 2, sampling=SHORT, seed=1, threads=threads))


@pytest.mark.parametrize("noise", ["gaussian", "student"])
@pytest.mark.parametrize("rank", [0, 2])
def test_more_draws_are_those_of_a_longer_run(noise, rank):
    short, long = (Sampling(chains=3, anneal=10, settle=5, draws=d, thin=3) for d in (3, 8))  # odd numbers
    first = complete(Y, rank, noise=noise, sampling=short, seed=3)
    before = first.draws.mu.copy()
    whole = complete(Y, rank, noise=noise, sampling=long, seed=3)
    assert equal(first.more(5), whole)
    assert equal(first.more(2).more(3, threads=1), whole)
    np.testing.assert_array_equal(first.draws.mu, before)


def test_more_keeps_single_precision_and_refuses_no_draws():
    single = complete(Y, 1, sampling=SHORT, seed=1, dtype=np.float32)
    assert single.more(2).draws.left.dtype == np.float32
    with pytest.raises(ParameterError, match="draws must be a whole number of at least 1"):
        single.more(0)


def test_progress_counts_every_sweep_once():
    counted = []

    class Counter:
        def advance(self, n=1):
            counted.append(n)

    fitted = complete(Y, 1, sampling=SHORT, seed=1)
    plan = Sampling(chains=4, anneal=7, settle=3, draws=5, thin=3)
    data, priors = fitted.fit.data(fitted.observations), fitted.fit.priors_of(fitted.shape)
    chains.run_chains(fitted.chains, data, priors, plan, Counter())
    assert sum(counted) == plan.chains * plan.sweeps == 4 * 25


def test_a_failure_inside_a_chain_comes_out(monkeypatch):
    def broken(*args):
        raise ArithmeticError("a chain broke")

    monkeypatch.setattr(gibbs, "step", broken)
    with pytest.raises(ArithmeticError, match="a chain broke"):
        complete(Y, 1, sampling=SHORT, seed=1)


# Sampling


def test_annealing_climbs_to_the_posterior_and_stays():
    betas = Sampling(anneal=50, settle=20).betas()
    assert betas.size == 70
    assert betas[0] == pytest.approx(0.01)
    assert np.all(np.diff(betas[:50]) > 0)
    assert np.all(betas[49:] == 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"chains": 0},
        {"draws": 0},
        {"thin": 0},
        {"anneal": -1},
        {"settle": 1.5},
        {"chains": True},
        {"kind": "short"},
    ],
)
def test_lengths_that_make_no_run_are_refused(wrong):
    name = next(iter(wrong))
    with pytest.raises(ParameterError, match=name if name != "kind" else "population"):
        Sampling(**wrong)


@pytest.mark.parametrize("kind", ["population", "long"])
def test_default_lengths_shrink_as_problems_grow(kind):
    plans = [Sampling.resolve(kind, (m, m), 20 * m, 5) for m in (10, 100, 1000, 10_000, 100_000)]
    sweeps = [plan.chains * plan.sweeps for plan in plans]
    assert sweeps == sorted(sweeps, reverse=True)
    assert all(plan.kind == kind for plan in plans)
    assert all(plan.chains >= 4 for plan in plans)


# Interrupts


def kept_of(have):
    """Room for 5 draws of each chain, of which `have[c]` are there: draw d of chain c is 10 c + d."""
    arrays = [np.zeros((len(have), 5, *tail)) for tail in ((3, 1), (2, 1), (3,), (2,), (8,))]
    for c, n in enumerate(have):
        for d in range(n):
            for array in arrays:
                array[c, d] = 10 * c + d
    return DrawBuffers(*arrays)


def test_an_interrupt_keeps_the_largest_rectangle_of_draws():
    fitted = complete(Y, 1, sampling=SHORT, seed=1)

    def salvage(done):
        run = chains.ChainRun(fitted.chains, kept_of(done), (0, 1, 2, 3), True)
        return chains._salvage_draws(run, done)

    run = salvage([5, 3, 3, 0])
    assert run.interrupted
    assert run.places == (0, 1, 2)
    np.testing.assert_array_equal(run.buffers.row[:, :, 0], [[0, 1, 2], [10, 11, 12], [20, 21, 22]])
    assert run.chains == tuple(fitted.chains[c] for c in (0, 1, 2))
    run = salvage([5, 1, 0, 0])
    assert run.places == (0,)
    assert run.buffers.row.shape[:2] == (1, 5)
    with pytest.raises(KeyboardInterrupt):
        salvage([0, 0, 0, 0])


def test_an_interrupt_that_leaves_only_rank_zero_keeps_a_posterior_of_use():
    fitted = complete(Y, 1, sampling=SHORT, seed=1)
    data, priors = fitted.fit.data(fitted.observations), fitted.fit.priors_of(fitted.shape)
    begun = chains.spawn_chains(np.random.SeedSequence(0), data, [0, 0, 1], priors)
    with track(0, "", False) as silent:
        run = chains.run_chains(begun, data, priors, SHORT, silent)
    left = chains._salvage_draws(run, [6, 6, 0])
    kept = Posterior(
        fitted.observations, fitted.fit, SHORT, left.chains, draws_in_user_units(left, fitted.fit), None, True
    )
    assert kept.rank == 0
    assert kept.to_arviz().posterior.sizes["chain"] == 2
    assert kept.more(1).draws.mu.shape == (2, 7)
    assert "interrupted" in repr(kept)


START = """
import _thread, os, signal, sys, threading, time
import numpy as np
from maxentry import Sampling, complete

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born deaf to it
Y = np.random.default_rng(0).normal(size=(60, 40))
complete(Y, 1, sampling=Sampling(chains=2, anneal=1, settle=1, draws=1, thin=1))  # compiles
ways = {"signal": lambda: os.kill(os.getpid(), signal.SIGINT), "call": _thread.interrupt_main}

def interrupt_in(seconds):
    timer = threading.Timer(seconds, ways[sys.argv[1]])
    timer.daemon = True
    timer.start()
    return time.monotonic()

class InterruptAfter:  # so many sweeps, however long they take
    def __init__(self, sweeps):
        self.left, self.turn = sweeps, threading.Lock()

    def __call__(self, total, what):
        return self

    def advance(self, n=1):
        with self.turn:
            due, self.left = self.left > 0 >= self.left - n, self.left - n
        if due:
            self.sent = time.monotonic()
            ways[sys.argv[1]]()
"""
# Where there are no signals a notebook interrupts by a call, which a thread that waits for a lock does not hear.
WAYS = ["signal", "call"]


def in_a_process(code, way):
    """Run code that is interrupted, and return what it prints. Its session is its own: nobody else hears."""
    command = [sys.executable, "-c", START + textwrap.dedent(code), way]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=250, check=False, start_new_session=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.process
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_keeps_what_is_drawn_and_more_goes_on(way):
    code = """
    plan = Sampling(chains=3, anneal=5, settle=5, draws=20_000, thin=50)
    bar = InterruptAfter(10_000)  # a hundred draws or so
    p = complete(Y, 2, sampling=plan, threads=2, progress=bar)
    assert time.monotonic() - bar.sent < 100  # it would take many minutes to its end
    n = p.draws.mu.shape[1]
    assert p.interrupted and 1 <= n < 20_000
    assert 1 <= len(p.chains) == p.draws.mu.shape[0] <= 3
    assert np.isfinite(p.mean).all() and (p.sd > 0).all()
    assert "interrupted" in repr(p)
    q = p.more(2)
    assert q.draws.mu.shape == (len(p.chains), n + 2)
    assert (q.draws.mu[:, :n] == p.draws.mu).all()
    q = p.more(20_000, progress=InterruptAfter(10_000))
    assert q.interrupted and n < q.draws.mu.shape[1] < n + 20_000
    assert set(q.draws.mu[:, 0]) <= set(p.draws.mu[:, 0])
    print("kept")
    """
    assert in_a_process(code, way) == "kept\n"


@pytest.mark.process
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_before_the_first_draw_is_an_interrupt(way):
    code = """
    for rank, data in ((2, Y), ("auto", np.vstack([Y] * 100))):
        try:
            started = interrupt_in(0.5)
            complete(data, rank, sampling=Sampling(chains=2, anneal=10**6, draws=1))
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - started < 100)
    """
    assert in_a_process(code, way) == "interrupted True\n" * 2

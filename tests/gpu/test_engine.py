"""`engine=`: what is refused, what falls to the processor, and that a GPU's chains do all that the processor's do."""

import json
from pathlib import Path

import numpy as np
import pytest

import maxentry
from maxentry import Sampling, complete
from maxentry.errors import ParameterError
from maxentry.gpu import engine
from maxentry.gpu.engine import choose_engine
from maxentry.posterior.chains import ModelSpec

jax = pytest.importorskip("jax")

PLAN = Sampling("long", chains=4, anneal=20, settle=20, draws=6, thin=3)


def matrix(seed=0, shape=(30, 20), noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])) + rng.standard_normal(
        (shape[0], 1)
    )
    Y = X + noise * rng.standard_normal(shape)
    Y[rng.random(shape) < 0.4] = np.nan
    return Y


def fit(data, **options):
    options = {"rank": 2, "sampling": PLAN, "seed": 1, "progress": False, "engine": "gpu"} | options
    return complete(data, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "columns"}, "noise='columns'"),
        ({"limits": (-1.0, 1.0), "noise": "student"}, "noise='gaussian' with"),
        ({"noise_sd": 0.1}, "standard errors or deviations"),
        ({"rank": 80, "data": matrix(shape=(200, 170))}, "ranks up to 64"),
    ],
)
def test_what_a_gpu_lacks_is_refused_with_a_sentence_and_falls_to_the_processor(options, words):
    data = options.pop("data", matrix())
    with pytest.raises(ParameterError, match=f"engine='gpu' .*{words}"):
        fit(data, **options)
    if "rank" not in options:
        fit(data, engine="auto", sampling=Sampling("long", 1, 0, 1, 1, 1), **options)


def test_another_name_of_an_engine_and_a_gpu_beside_a_cluster_are_refused():
    with pytest.raises(ParameterError, match="'auto', 'cpu' or 'gpu', got 'tpu'"):
        fit(matrix(), engine="tpu")
    with pytest.raises(ParameterError, match="leave one of them out"):
        fit(matrix(), cluster="tcp://nowhere:1")


def test_a_gpu_is_taken_where_there_is_one_and_work_is_plenty(monkeypatch):
    data = ModelSpec().data(maxentry.Observations.of(matrix()))
    for found in (True, False):
        monkeypatch.setattr(engine, "_has_gpu", lambda found=found: found)
        long = int(engine.WORTH_WHOLE / engine.WORTH) + 1
        assert choose_engine("auto", data, [2], engine.WORTH, long) == ("gpu" if found else "cpu")
        assert choose_engine("auto", data, [2], 0.9 * engine.WORTH, 2 * long) == "cpu"
        assert choose_engine("auto", data, [2], engine.WORTH, long // 2) == "cpu"
        assert choose_engine("cpu", data, [2], engine.WORTH, long) == "cpu"
    jax.config.update("jax_platforms", None)
    with pytest.raises(ParameterError, match="JAX can use, and it found none"):
        choose_engine("gpu", data, [2], engine.WORTH, 1)


def test_the_rule_of_auto_is_that_of_the_measured_table():
    """The sizes at which a sweep is faster on the GPU, and the work of processors while a new process gets ready."""
    path = Path(__file__).parents[2] / "benchmarks" / "gpu" / "h200.json"
    measured = json.loads(path.read_text())
    faster = {table["work"]: table["cpu"] > table["gpu"] for table in measured["small"].values()}
    assert {work: work >= engine.WORTH for work in faster} == faster
    largest = measured["small"]["1000"]
    speed = 96 * largest["work"] / largest["cpu"]  # multiplications a second on all processors
    whole = speed * measured["first_use"]["in a new process"]
    assert 0.5 < engine.WORTH_WHOLE / whole < 2.0


@pytest.mark.slow
def test_draws_depend_on_the_seed_alone_and_not_on_watching_or_where_they_are_stored(tmp_path):
    Y = matrix()
    first, again = fit(Y), fit(Y)
    for a, b in zip(first.draws, again.draws, strict=True):
        assert (a is None and b is None) or np.array_equal(a, b)
    watched = fit(Y, watch=([0, 3], [1, 2]))
    np.testing.assert_array_equal(watched.draws.left, first.draws.left)
    assert watched.watched.n == 4 * 6 * 3
    stored = fit(Y, store=tmp_path / "draws", dtype=np.float32)
    np.testing.assert_allclose(stored.draws.left, first.draws.left, rtol=1e-6)
    assert not np.array_equal(fit(Y, seed=2).draws.left, first.draws.left)
    warm = complete(Y, start=first, engine="gpu", sampling=PLAN, seed=3, progress=False)
    assert warm.rank == 2
    assert len(warm.chains) == 4


@pytest.mark.slow
def test_an_interrupt_keeps_the_draws_so_far(monkeypatch):
    from maxentry.gpu.device import Run

    store = Run._store

    def interrupt(self, d, state):
        store(self, d, state)
        if d == 2:
            self.control.stop.set()

    monkeypatch.setattr(Run, "_store", interrupt)
    monkeypatch.setattr(
        "maxentry.posterior.chains._wait", lambda futures, stop: futures[0].result() is not None
    )
    posterior = fit(matrix())
    assert posterior.interrupted
    assert posterior.draws.left.shape[1] == 4  # the next was on its way when the third was stored


def agree(one, other, largest):
    """Whether the means of all entries differ by no more than their Monte Carlo error allows."""
    means = [
        p.draws.mean_by_chain if hasattr(p.draws, "mean_by_chain") else chain_means(p) for p in (one, other)
    ]
    error = np.sqrt(sum(m.var(axis=0, ddof=1) / len(m) for m in means))
    z = (means[0].mean(0) - means[1].mean(0)) / error
    return np.sqrt(np.mean(z**2)) < largest


def chain_means(p):
    d = p.draws
    x = np.einsum("cdir,cdjr->cij", d.left, d.right) / d.left.shape[1]
    return x + (d.row.mean(1)[:, :, None] + d.col.mean(1)[:, None, :]) + d.mu.mean(1)[:, None, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "options"),
    [
        (lambda Y: Y, {}),
        (lambda Y: Y, {"noise": "student"}),
        (lambda Y: np.clip(Y, -1.0, 1.5), {"limits": (-1.0, 1.5)}),
        (lambda Y: np.clip(np.round(Y) + 3, 1, 5), {"kind": "grades", "levels": (1, 2, 3, 4, 5)}),
    ],
    ids=["gaussian", "student", "limits", "grades"],
)
def test_posterior_means_are_those_of_the_processor(read, options):
    """z of 600 entries with the spread of 32 chains each: their root mean square is 1.03 for equal means.

    Latent values settle slowly: after 60 sweeps, fits of grades by two seeds on the processor have 1.6.
    """
    settle = 500 if options.keys() & {"limits", "kind"} else 60
    plan = Sampling("long", chains=32, anneal=60, settle=settle, draws=40, thin=2)
    Y = matrix()
    ours, theirs = (fit(read(Y), sampling=plan, engine=where, **options) for where in ("gpu", "cpu"))
    assert agree(ours, theirs, 1.4)
    shifted = fit(read(Y + 1.0), sampling=plan, engine="cpu", **options)
    assert not agree(ours, shifted, 1.4)


@pytest.mark.slow
def test_where_noise_is_tiny_the_sweeps_go_on_in_double_precision():
    """Single precision cannot tell noise of 1e-5 of the sd of the data; the processor's sampler can."""
    Y = matrix(noise=1e-5)
    plan = Sampling("long", chains=4, anneal=100, settle=60, draws=20, thin=2)
    ours, theirs = (fit(Y, sampling=plan, engine=where) for where in ("gpu", "cpu"))
    sds = [np.sqrt(np.median(p.draws.eta2)) for p in (ours, theirs)]
    assert 0.8 < sds[0] / sds[1] < 1.25


def fail_in_single(monkeypatch, batches):
    """Let these batches of sweeps fail in single precision; return all that is started: number, precision, states."""
    from maxentry.gpu.device import Run

    start, log = Run._start, []

    def started(self, states, betas, plain):
        end, real = start(self, states, betas, plain), np.dtype(self.observed.real).name
        if real == "float32" and self.first // self.chunk in batches:
            end = end._replace(scalars=end.scalars * np.nan)
        log.append((self.first, real, states, end))
        return end

    monkeypatch.setattr(Run, "_start", started)
    monkeypatch.setattr("maxentry.gpu.device.CHUNK", 4)
    return log


@pytest.mark.slow
def test_sweeps_that_fail_in_single_precision_are_done_again_in_double_and_the_next_ones_in_single(
    monkeypatch,
):
    """They start from the states before the failure, and the next ones from where they end."""
    log = fail_in_single(monkeypatch, batches={1})
    plan = Sampling("long", chains=2, anneal=8, settle=8, draws=2, thin=4)
    found = fit(matrix(), rank=0, sampling=plan)
    assert [(first, real[-2:]) for first, real, *_ in log] == [
        (0, "32"), (4, "32"), (4, "64"), (8, "32"), (12, "32"), (16, "32"), (20, "32"),
    ]  # fmt: skip
    (_, _, before, failed), (_, _, again, end), (_, _, after, _) = log[1:4]
    assert np.isnan(failed.scalars).all()
    for a, b in ((before, again), (after, end)):  # in single and in double precision
        np.testing.assert_array_equal(a.scalars, b.scalars)
        assert (a.left.free.dtype, b.left.free.dtype) == (np.float32, np.float64)
        np.testing.assert_array_equal(a.left.free, np.asarray(b.left.free, np.float32))
    assert np.isfinite(found.draws.row).all()


@pytest.mark.slow
def test_after_three_failures_all_sweeps_are_in_double_precision(monkeypatch):
    log = fail_in_single(monkeypatch, batches=range(100))
    fit(matrix(), rank=0, sampling=Sampling("long", chains=2, anneal=8, settle=8, draws=2, thin=4))
    assert [(first, real[-2:]) for first, real, *_ in log] == [
        (0, "32"), (0, "64"), (4, "32"), (4, "64"), (8, "32"), (8, "64"), (12, "64"), (16, "64"), (20, "64"),
    ]  # fmt: skip

"""Latent values on a device: their draws by the textbook, and the joint law that sweeps with them leave as it is."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from tests.posterior.test_gibbs_geweke import FAIL, PASS, largest_change  # noqa: E402
from tests.posterior.test_latent_geweke import INF, KINDS, observed_statistics  # noqa: E402
from tests.reference import gibbs_slow as slow  # noqa: E402
from tests.reference import latent_slow  # noqa: E402
from tests.reference.gibbs_gpu import ManyChains  # noqa: E402

from maxentry.gpu import latent  # noqa: E402
from maxentry.gpu.latent import Ends  # noqa: E402

WHOLE = (-INF, INF)
TABLES = {
    "limits": [(-INF, 0.0), (0.5, 1.5), WHOLE],
    "signs": [(-INF, 0.0), (0.0, INF), WHOLE],
    "yes/no": [(-INF, 0.0), (0.0, INF), WHOLE],
    "grades": [(-INF, 1.5), (1.5, 2.5), (2.5, 3.5), (3.5, 4.5), (4.5, INF), WHOLE],
}
CUTS = {"grades": (1, 2)}


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


ENDS = [
    (-INF, 0.3),
    (1.0, INF),
    (-1.0, 2.0),
    (-INF, 30.0),
    (-40.0, 40.0),
    (5.0, 6.0),
    (8.0, INF),
    (-INF, -30.0),
]
ENDS += [(50.0, INF), (1000.0, INF), (-60.0, -59.9), (300.0, 300.1), (3.0, 3.0 + 1e-7)]


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_draws_between_ends_are_those_of_the_textbook(low, high):
    """However far out and narrow: the place of a draw in its law is its uniform number."""
    u = np.random.default_rng(0).random(500)
    x = np.asarray(latent.draw_between(jnp.asarray(u), jnp.full(500, low), jnp.full(500, high)))
    at = latent_slow.cdf(x, 0.0, 1.0, low, high)
    rising = at if low + high < 0 else 1 - at  # uniform numbers count from the nearer tail's end
    assert np.abs(rising - (1 - u)).max() < 1e-7
    found = float(latent.log_between(jnp.float64(low), jnp.float64(high)))
    assert found == pytest.approx(latent_slow.log_probability(low, high), rel=1e-8, abs=1e-7)


class ManyLatent(ManyChains):
    """Chains at the same places; what is observed of their latent values differs."""

    def __init__(self, kind, i, j, **wrong):
        cuts = CUTS.get(kind.kind, ())
        super().__init__(kind.model(), i, j, limits=i.size, cuts=cuts, often=0.5, **wrong)
        self.table = jnp.array(TABLES[kind.kind])

    def given(self, pair):
        return *self.observed.sides, Ends(pair, self.table)

    def start(self, states, z, cuts):
        now = super().to_device(states)
        scalars = jnp.concatenate([now.scalars, jnp.asarray(cuts[:, 1:-1])], axis=1)
        return now._replace(scalars=scalars, values=jnp.asarray(np.pad(z, ((0, 0), (0, 1))), self.setup.real))


def observe(kind, z, cuts):
    """Which line of the table holds for each latent value, and behind them for the empty slot."""
    if kind.kind == "grades":
        pair = (z[:, :, None] > cuts[:, None, :]).sum(axis=2)
    elif kind.kind == "limits":
        pair = np.where(z <= 0, 0, np.where((z > 0.5) & (z <= 1.5), 1, 2))
    else:
        pair = (z > 0).astype(int)
    return np.pad(pair, ((0, 0), (0, 1)), constant_values=len(TABLES[kind.kind]) - 1).astype(np.int32)


def start_test(name, n, sweeps, seed, **wrong):
    """Largest |z| of changes by some sweeps, from n draws of the joint law; see `test_gibbs_geweke`."""
    kind, rng = KINDS[name], np.random.default_rng(seed)
    i, j = kind.case.positions(rng)
    starts, cuts = slow.prior_draws(n, kind.model(), i, j, rng), kind.first_cuts(n, rng)
    mean = starts.mu[:, None] + (starts.r + starts.p)[:, i] + (starts.c + starts.q)[:, j] + starts.X[:, i, j]
    z = mean + np.sqrt(starts.eta2 / kind.case.beta)[:, None] * rng.standard_normal(mean.shape)
    pair = observe(kind, z, cuts)
    chains = ManyLatent(kind, i, j, **wrong)
    now = chains.start(starts, z, cuts)
    for t in range(sweeps):
        keys = jax.random.split(jax.random.key(1_000 * seed + t), n)
        now = chains.run(now, jnp.asarray(pair), keys, chains.hyper)
    ends, last = chains.to_host(now, z), np.asarray(now.scalars)[:, 8:]
    last = np.column_stack([cuts[:, :1], last, cuts[:, -1:]]) if cuts.size else cuts
    y0 = pair[:, 0].astype(float)
    before, after = observed_statistics(starts, cuts, y0), observed_statistics(ends, last, y0)
    varies = before.std(axis=0) > 1e-12  # not the noise of yes and no
    return largest_change(before[:, varies], after[:, varies])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["limits", "signs, tempered", "yes/no", "grades"])
def test_sweeps_with_latent_values_leave_the_joint_law_as_it_is(name):
    assert start_test(name, 8_000, 5, seed=1) < PASS


@pytest.mark.slow
def test_they_do_so_in_single_precision():
    assert start_test("grades", 8_000, 5, seed=2, real="float32", blocks=True) < PASS


@pytest.mark.slow
def test_negative_controls_mistakes_in_latent_values_are_seen(monkeypatch):
    draw = latent.draw_between
    with monkeypatch.context() as patch:  # half the standard deviation
        patch.setattr(latent, "draw_between", lambda u, low, high: 0.5 * draw(u, 2 * low, 2 * high))
        assert start_test("limits", 8_000, 3, seed=3) > FAIL
    with monkeypatch.context() as patch:
        patch.setattr(latent, "current_ends", lambda ends, scalars, setup: ends.table)  # cuts halfway
        assert start_test("grades", 8_000, 3, seed=3) > FAIL

"""maxentry: `complete` for the first fit, one chain of it for times, its sweeps one by one for draws and errors."""

import common
import numpy as np

import maxentry
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import ModelSpec
from maxentry.progress import track

BLOCK_NUMBERS = 4e6  # of factors that are kept for prediction between two looks: 32 MB


def first(job, record):
    """What a user would write."""
    plan = maxentry.Sampling("long", chains=1, anneal=0, settle=0, draws=job.sweeps, thin=1)
    posterior = maxentry.complete(
        (job.rows, job.cols, job.values), job.rank, shape=job.shape, sampling=plan, seed=0, progress=False,
        threads=job.threads,
    )  # fmt: skip
    record.error(job.sweeps, posterior.predict(job.test_rows, job.test_cols).mean)


class Watch:
    """Where the product reports its progress: a lap of the clock."""

    def __init__(self, record):
        self.record, self.mark = record, common.now()

    def advance(self, n=1):
        now = common.now()
        self.record.lap(n, self.mark, now)
        self.mark = now


class Sampler:
    """A chain from the prior."""

    def __init__(self, job, seed):
        observations = maxentry.Observations.of((job.rows, job.cols, job.values), shape=job.shape)
        fit = ModelSpec().in_units_of(observations)
        self.priors, self.units, self.data = (
            fit.priors_of(observations.shape),
            fit.units,
            fit.data(observations),
        )
        self.rank, self.threads = job.rank, job.threads
        self.chains = chains.spawn_chains(np.random.SeedSequence(seed), self.data, [self.rank], self.priors)
        with track(1, "", False) as nobody:
            self.run(1, nobody)  # compiled kernels are fetched from the cache when they are first called

    def run(self, sweeps, progress):
        """As `complete` runs it, on as many threads as it finds useful; the last state is kept."""
        plan = maxentry.Sampling("long", 1, anneal=0, settle=sweeps - 1, draws=1, thin=1)
        done = chains.run_chains(self.chains, self.data, self.priors, plan, progress, threads=self.threads)
        self.chains = done.chains

    def draws(self, sweeps, anneal, block):
        """Every state of so many sweeps, a block at a time; annealed over the first ones as the product does."""
        (chain,) = self.chains
        rng, state = chain.generator(), chain.state
        hyper = gibbs.hyperparameters(self.priors(self.rank))
        betas = maxentry.Sampling("long", 1, anneal=anneal, settle=sweeps - anneal, draws=1, thin=1).betas()
        m1, m2 = self.data.shape
        kept = gibbs.DrawBuffers(
            np.zeros((block, m1, self.rank)), np.zeros((block, m2, self.rank)),
            np.zeros((block, m1)), np.zeros((block, m2)), np.empty((block, state.scalars.size)),
        )  # fmt: skip
        for start in range(0, sweeps, block):
            now = betas[start : start + block]
            part = kept.at(slice(0, now.size))
            begin = common.now()
            state = gibbs.step(state, self.data, self.rank, hyper, rng, now, part, 1)
            yield begin, common.now(), part

    def at(self, kept, rows, cols):
        """Draws of entries, one array a draw, in the units of the data."""
        for left, right, row, col, scalars in zip(*kept, strict=True):
            X = np.einsum("nr,nr->n", left[rows], right[cols]) + row[rows] + col[cols] + scalars[0]
            yield self.units.shift + self.units.scale * X


def one_chain(job, record, seed):
    if job.what == "first":
        first(job, record)
        return
    with record.set_up():
        sampler = Sampler(job, seed)
    if job.what == "timed":
        sampler.run(job.sweeps, Watch(record))
        return
    block = max(1, min(job.sweeps // 10, int(BLOCK_NUMBERS / (sum(job.shape) * (job.rank + 1)))))
    for begin, end, kept in sampler.draws(job.sweeps, job.options["anneal"], block):
        record.lap(kept.row.shape[0], begin, end)
        for draw in sampler.at(kept, *job.places):
            record.predicted(draw)
        if record.over:
            return


if __name__ == "__main__":
    common.main(one_chain)

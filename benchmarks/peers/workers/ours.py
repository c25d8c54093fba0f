"""maxentry: `maxentry.complete` for the first fit, otherwise one chain of its sampler at a time, sweep by sweep."""

import common
import numpy as np

import maxentry
from maxentry.posterior import chains, conjugate
from maxentry.posterior.fit import Fit

BLOCK_NUMBERS = 4e6  # of factors that are kept for prediction between two looks: 32 MB


def first(job, record):
    """What a user would write."""
    plan = maxentry.Sampling("long", chains=1, anneal=0, settle=0, draws=job.sweeps, thin=1)
    posterior = maxentry.complete(
        (job.rows, job.cols, job.values), job.rank, shape=job.shape, sampling=plan, seed=0, progress=False,
        threads=job.threads,
    )  # fmt: skip
    record.error(job.sweeps, posterior.predict(job.test_rows, job.test_cols).mean)


class Sampler:
    """A chain from the prior, annealed over the first sweeps as the product's are."""

    def __init__(self, job, seed):
        triples = (job.rows, job.cols, job.values)
        observations = maxentry.Observations.of(triples, shape=job.shape)
        fit = Fit("gaussian").in_units_of(observations)
        priors = fit.priors_of(observations.shape)
        self.units, self.data, self.rank = fit.units, fit.data(observations), job.rank
        (chain,) = chains.spawn(np.random.SeedSequence(seed), self.data, [self.rank], priors)
        self.rng, self.state = chain.generator(), chain.state
        self.hyper = conjugate.hyperparameters(priors(self.rank))
        anneal = job.options["anneal"]
        self.betas = maxentry.Sampling("long", 1, anneal=anneal, settle=job.sweeps, draws=1, thin=1).betas()

    def room(self, draws):
        m1, m2 = self.data.shape
        return conjugate.Kept(
            np.zeros((draws, m1, self.rank)), np.zeros((draws, m2, self.rank)),
            np.zeros((draws, m1)), np.zeros((draws, m2)), np.empty((draws, self.state.scalars.size)),
        )  # fmt: skip

    def step(self, sweeps, kept):
        now, self.betas = self.betas[:sweeps], self.betas[sweeps:]
        thin = 1 if kept.row.shape[0] else 0
        self.state = conjugate.step(self.state, self.data, self.rank, self.hyper, self.rng, now, kept, thin)

    def at(self, kept, rows, cols):
        """Draws (draw, entry) in the units of the data."""
        for left, right, row, col, scalars in zip(*kept, strict=True):
            X = np.einsum("nr,nr->n", left[rows], right[cols]) + row[rows] + col[cols] + scalars[0]
            yield self.units.shift + self.units.scale * X


def one_chain(job, record, seed):
    if job.what == "first":
        first(job, record)
        return
    with record.set_up():
        sampler = Sampler(job, seed)
    numbers = sum(job.shape) * (job.rank + 1)
    block = max(1, min(job.sweeps // 10, int(BLOCK_NUMBERS / numbers)))
    kept = sampler.room(block if job.what == "recorded" else 0)
    while not record.over:
        n = min(block, job.sweeps - record.done)
        with record.timed(n):
            sampler.step(n, kept.part(0, n))
        if job.what == "recorded":
            for draw in sampler.at(kept.part(0, n), *job.places):
                record.predicted(draw)


if __name__ == "__main__":
    common.main(one_chain)

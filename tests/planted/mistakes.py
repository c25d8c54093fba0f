"""Mistakes that somebody could make, at least one in each module of the numerics and of campaigns.

Each is a text that stands once in its file and what to put in its place, with what that breaks, and the tests that
should see it first. `python -m tests.planted` plants them one by one.
"""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """A planted mistake: a file below src/maxentry, the right text, the wrong one, and what it breaks."""

    file: str
    right: str
    wrong: str
    breaks: str
    tests: str  # files or folders below tests/, with spaces between: what is run first

    @property
    def name(self) -> str:
        return f"{self.file}: {self.breaks}"


KERNELS = [
    Mistake(
        "kernels/algorithm2.py",
        "sigma2 = draw_inverse_gamma(hyper[2] + 0.5 * R * R,",
        "sigma2 = draw_inverse_gamma(hyper[2] + 0.5 * R,",
        "the shape of sigma2 is the one that the paper prints",
        "posterior/test_algorithm2.py",
    ),
    Mistake(
        "kernels/design.py",
        "s = (symbol[r, c] + 1 + random_below(m - 1, rng)) % m",
        "s = (symbol[r, c] + 1 + random_below(m, rng)) % m",
        "a move of a Latin square may take the symbol that is there",
        "design/test_latin.py",
    ),
    Mistake(
        "kernels/rng.py",
        "d = 1.0 + precision * n[k] * tau2",
        "d = 1.0 + precision * tau2",
        "the variance of the effects does not count the measurements of a row",
        "posterior/test_gibbs_effects.py",
    ),
    Mistake(
        "kernels/ridge.py",
        "quad += y[k] * y[k]",
        "quad = y[k] * y[k]",
        "draws are weighted by the last observation of a new row alone",
        "posterior/test_new_rows.py",
    ),
    Mistake(
        "kernels/gauge.py",
        "s -= C[a, k] * W[b, k]",
        "s += C[a, k] * W[b, k]",
        "the orthonormal frame is wrong from rank 2 on",
        "posterior/test_gibbs_kernel.py",
    ),
    Mistake(
        "kernels/gibbs.py",
        "this.free.size - R - int(aligned), sigma2, rng, Q)",
        "this.free.size - R, sigma2, rng, Q)",
        "the aligned effects take no degree of freedom from the augmented precision",
        "posterior/test_gibbs_geweke.py posterior/test_gibbs_twin.py",
    ),
    Mistake(
        "kernels/gibbs.py",
        "0.5 * (beta * n_obs + (1.0 - beta) * limits)",
        "0.5 * n_obs",
        "the noise is not tempered while a chain is annealed",
        "posterior/test_gibbs_geweke.py",
    ),
    Mistake(
        "kernels/jit_cache.py",
        "digest.update(file.read_bytes())",
        "pass",
        "a kernel that was changed keeps its compiled code",
        "test_kernel_cache.py",
    ),
    Mistake(
        "kernels/ridge.py",
        "fitted += z[p] * (z[p] - rho * c[p])",
        "fitted += z[p] * (z[p] - c[p])",
        "the fitted sum of rows with few entries forgets the ridge",
        "completion",
    ),
    Mistake(
        "kernels/rng.py",
        "0.5 * (df - k)))",
        "0.5 * df))",
        "Wishart draws have too many degrees of freedom from rank 2 on",
        "distributions/test_wishart.py",
    ),
    Mistake(
        "kernels/rows.py",
        "S[K, R, lane] = sums[1]",
        "S[K, R, lane] = sums[0]",
        "the effect of a row does not hear its values",
        "posterior/test_gibbs_kernel.py",
    ),
    Mistake(
        "kernels/simd.py",
        "emit_fma(builder, builder.fneg(a), b, c)",
        "emit_fma(builder, a, b, c)",
        "c - a b is c + a b",
        "posterior/test_gibbs_kernel.py",
    ),
    Mistake(
        "_io.py",
        "return os.cpu_count() or 1",
        "return 1 + (os.cpu_count() or 1)",
        "one thread more than processors",
        "posterior/test_threads.py",
    ),
    Mistake(
        "kernels/variances.py",
        "left -= c * c",
        "left -= c",
        "what a measured direction explains of a variance",
        "acquisition",
    ),
]
MODEL = [
    Mistake(
        "model/entropy.py",
        'np.einsum("ir,ir->i", U, U)',
        "np.abs(U).sum(1)",
        "coherence is a sum of squares",
        "model/test_coherence.py",
    ),
    Mistake(
        "model/effects.py",
        "return self.mu + self.row[:, None] + self.col[None, :]",
        "return self.row[:, None] + self.col[None, :]",
        "the matrix of additive means has no level",
        "model/test_effects.py",
    ),
    Mistake(
        "model/entropy.py",
        "log_det += max(N - q, 0) * np.log(eta2)",
        "log_det += (N - q) * np.log(eta2)",
        "the entropy of few entries",
        "model/test_entropy.py",
    ),
    Mistake(
        "model/smg.py",
        "np.where(np.diagonal(T) < 0, -1.0, 1.0)",
        "np.where(np.diagonal(T) < 0, 1.0, 1.0)",
        "frames are not uniform: their signs are LAPACK's",
        "distributions/test_stiefel.py",
    ),
    Mistake(
        "model/goal.py",
        'k = int(found["k"]) if found["k"] else OVERALL if line is None else 1',
        'k = int(found["k"]) if found["k"] else OVERALL',
        "the best of each row are ten",
        "model/test_goal.py",
    ),
    Mistake(
        "model/priors.py",
        "* m1 * m2 / max(rank, 1) ** 2)",
        "* m1 * m2 / max(rank, 1))",
        "the prior of the signal puts more than half of the variance on X",
        "model/test_priors.py test_docs.py",
    ),
    Mistake(
        "model/smg.py",
        "np.sqrt(sigma2) * rng.standard_normal((R, R))",
        "sigma2 * rng.standard_normal((R, R))",
        "the entries of M have the variance sigma2 squared",
        "model/test_smg.py",
    ),
]
DESIGN = [
    Mistake(
        "design/balanced.py",
        "x[extendable[: n - int(x.sum())]] += 1",
        "x[extendable[: n]] += 1",
        "margins hold more entries than are wanted",
        "design/test_balanced.py",
    ),
    Mistake(
        "design/latin.py",
        "squares = -(-m1 // m2)",
        "squares = m1 // m2",
        "the last rows of a tall matrix get no entry",
        "design/test_latin.py",
    ),
    Mistake(
        "design/uniform.py",
        "check_count(n, pool), make_generator(seed)))",
        "check_count(n, pool), make_generator(0)))",
        "uniform designs are the same for every seed",
        "design/test_uniform.py design/test_randomness.py",
    ),
]
COMPLETION = [
    Mistake(
        "completion/nuclear_norm.py",
        'x = np.einsum("nk,nk->n", self.X.U[self.rows] * self.X.d,',
        'x = np.einsum("nk,nk->n", self.X.U[self.rows],',
        "held-out errors forget the singular values",
        "completion/test_penalty.py",
    ),
    Mistake(
        "completion/result.py",
        "0.5 * completion.penalty)",
        "completion.penalty)",
        "new rows are shrunk twice as much as old ones",
        "completion/test_fold_in.py",
    ),
    Mistake(
        "completion/nuclear_norm.py",
        "t = slope / (2.0 * float(w @ z**2))",
        "t = slope / float(w @ z**2)",
        "the line search overshoots by a factor of two",
        "completion/test_kernels.py",
    ),
    Mistake(
        "completion/nuclear_norm.py",
        "gap = max(primal - dual, 0.0) / primal",
        "gap = max(primal - dual, 0.0) / (2 * primal)",
        "the certificate promises twice as much as it should",
        "completion/test_kernels.py",
    ),
]
ACQUISITION = [
    Mistake(
        "acquisition/criteria.py",
        "Gamma = gram_matrix(draws.plain) / (draws.p * m1 * m2)",
        "Gamma = gram_matrix(draws.plain) / (m1 * m2)",
        "the gain of integrated variance has the wrong size",
        "acquisition/test_twins.py",
    ),
    Mistake(
        "acquisition/draw_field.py",
        "w = w / np.sqrt(self.p)",
        "w = w / self.p",
        "products with the features of the draws",
        "acquisition",
    ),
    Mistake(
        "acquisition/draw_field.py",
        "return Kf / np.sqrt(v + eta2), v",
        "return Kf / np.sqrt(v), v",
        "a measurement tells an entry without noise",
        "acquisition",
    ),
    Mistake(
        "acquisition/greedy.py",
        "free = self.problem.available(tile.rows, tile.cols) & self.quota.at(tile.rows, tile.cols)",
        "free = self.problem.available(tile.rows, tile.cols)",
        "limits per row and column do not count",
        "acquisition/test_twins.py contracts/test_criteria.py",
    ),
    Mistake(
        "acquisition/plates.py",
        "K -= np.outer(Kf, Kf / (v + field.eta2))",
        "K -= np.outer(Kf, Kf / v)",
        "the entries of a plate tell more than they can",
        "acquisition contracts/test_criteria.py",
    ),
    Mistake(
        "acquisition/targets.py",
        "share = (1 - np.sqrt(self.eta2[a] * q)) / v",
        "share = 1 / (v + self.eta2[a])",
        "targets are known less after a measurement than they are",
        "acquisition/test_targets.py",
    ),
    Mistake(
        "acquisition/problem.py",
        "free[np.repeat(np.arange(len(rows)), n)[inside], col[inside]] = False",
        "pass",
        "what is measured or pending may be chosen again",
        "contracts/test_criteria.py",
    ),
    Mistake(
        "acquisition/subspace_field.py",
        "precision += F.T @ F",
        "precision = precision + F.T @ F / 2",
        "observed entries count half under maxent",
        "acquisition/test_fields.py acquisition",
    ),
    Mistake(
        "acquisition/total_variance.py",
        "G -= G.mean(1, keepdims=True)",
        "pass",
        "the Gram matrix of the draws is centred on one side only",
        "acquisition/test_variance.py acquisition",
    ),
]
POSTERIOR = [
    Mistake(
        "posterior/algorithm2.py",
        "mean = total / np.maximum(count, 1)",
        "mean = total",
        "replicates are added and not averaged",
        "posterior/test_algorithm2.py",
    ),
    Mistake(
        "posterior/diagnostics.py",
        "above = log_eta - np.array([np.median(log_eta[ranks == rank]) for rank in ranks])",
        "above = log_eta - np.median(log_eta)",
        "chains of a low rank count as stuck beside those of a high one",
        "posterior/test_stuck.py",
    ),
    Mistake(
        "posterior/chains.py",
        "for rank, child in zip(ranks, seed.spawn(len(ranks)), strict=True):",
        "for rank, child in zip(ranks, [seed] * len(ranks), strict=True):",
        "all chains have the same random stream",
        "posterior/test_chains.py",
    ),
    Mistake(
        "posterior/rank.py",
        "np.random.SeedSequence(STREAM)",
        "np.random.SeedSequence()",
        "the choice of the rank is another one each time",
        "posterior/test_rank.py",
    ),
    Mistake(
        "posterior/diagnostics.py",
        "factor = max((rhat**2 - 1) / (LONG_RHAT**2 - 1), enough / ess.min())",
        "factor = (rhat**2 - 1) / (LONG_RHAT**2 - 1)",
        "too short a run is advised where the effective size is what lacks",
        "posterior/test_diagnostics.py",
    ),
    Mistake(
        "posterior/draws.py",
        'unseen = k + np.searchsorted(observed - np.arange(observed.size), k, side="right")',
        "unseen = k",
        "entries that are watched as unobserved are observed",
        "posterior/test_diagnostics.py",
    ),
    Mistake(
        "kernels/latent.py",
        "0.5 * (x - rate) * (x - rate)) & (x <= b[k]))",
        "0.5 * (x - rate) * (x - rate)))",
        "latent values lie beyond their upper ends",
        "distributions/test_truncated_normal.py",
    ),
    Mistake(
        "posterior/archive.py",
        'f"chain{c}_{name}": array for name, array in state.items()',
        'f"chain0_{name}": array for name, array in state.items()',
        "a posterior is saved without where its chains stand",
        "posterior/test_storage.py",
    ),
    Mistake(
        "posterior/new_rows.py",
        "return np.asarray(2 * gamma / (nu + (o.values - x) ** 2 / variances))",
        "return np.asarray(2 * gamma / (nu + 1.0) + 0 * x)",
        "the weights of new rows under Student noise do not see outliers",
        "posterior/test_new_rows.py",
    ),
    Mistake(
        "posterior/gibbs.py",
        "shift = float(values.mean()) if effects else 0.0",
        "shift = float(values.mean())",
        "values are centred where the model has no mean",
        "posterior",
    ),
    Mistake(
        "model/likelihood.py",
        "return self.standard() * np.sqrt(self.var)",
        "return self.standard() * self.var",
        "the noise of predictive intervals has a variance for an sd",
        "posterior/test_intervals.py",
    ),
    Mistake(
        "posterior/decisions.py",
        "top = float(np.partition(lines, lines.shape[2] - k, axis=2)[:, :, -k:].mean())",
        "top = float(lines.max(2).mean())",
        "the regret of the k best is that of the best alone",
        "posterior/test_decisions.py",
    ),
    Mistake(
        "posterior/decisions.py",
        "averages = x @ goal.shares(x.shape[2])",
        "averages = x.mean(2)",
        "what is at stake for a ranking forgets its weights",
        "contracts/test_campaign_like.py",
    ),
    Mistake(
        "posterior/intervals.py",
        "tail = 0.5 * (1 - level)",
        "tail = 1 - level",
        "intervals hold less than they say",
        "posterior/test_intervals.py posterior/test_posterior.py",
    ),
    Mistake(
        "posterior/posterior.py",
        "nu = None if self.draws.nu is None else self.draws.nu.ravel()",
        "nu = None",
        "predictive intervals of Student noise are Gaussian",
        "posterior/test_posterior.py",
    ),
    Mistake(
        "posterior/rank.py",
        "held = fold_of == fold",
        "held = fold_of != fold",
        "ranks are fitted to what should be held out",
        "posterior/test_rank.py",
    ),
    Mistake(
        "posterior/rhat_ess.py",
        "between = n * z.mean(axis=2).var(axis=1, ddof=1)",
        "between = z.mean(axis=2).var(axis=1, ddof=1)",
        "R-hat hardly sees that chains disagree",
        "posterior/test_convergence.py",
    ),
    Mistake(
        "posterior/schedule.py",
        "rising = [COLDEST ** (1.0 - k / last) for k in range(self.anneal)]",
        "rising = [COLDEST ** (k / last) for k in range(self.anneal)]",
        "chains are heated while they should be cooled",
        "posterior",
    ),
    Mistake(
        "posterior/streaming.py",
        "np.sqrt((self.squares.sum(0) + between) / (self.n - 1))",
        "np.sqrt(self.squares.sum(0) / (self.n - 1))",
        "the sd of watched entries forgets that chains differ",
        "posterior/test_streaming.py",
    ),
    Mistake(
        "posterior/complete.py",
        "moved[to] = factor",
        "moved[: len(factor)] = factor",
        "a warm start gives rows the factors of others",
        "posterior/test_warm_start.py",
    ),
]
CAMPAIGN = [
    Mistake(
        "campaign/campaign.py",
        "handed = state.asked.select(state.asked.since(state.version))",
        "handed = state.asked.select(state.asked.since(1))",
        "an ask hands out again what is pending",
        "campaign/test_campaign.py",
    ),
    Mistake(
        "acquisition/problem.py",
        "cost = self.at(rows[:, None], cols)",
        "cost = np.asarray(self.entry)[np.ix_(rows, cols)]",
        "the cheapest entry forgets the costs of its row and column",
        "campaign/test_outlook.py",
    ),
    Mistake(
        "campaign/events.py",
        "return plain | {name: [x if math.isfinite(x) else None for x in plain[name]] for name in PREDICTED}",
        "return plain",
        "an ask without a posterior cannot be written",
        "campaign",
    ),
    Mistake(
        "campaign/fits.py",
        "        s.priors,\n        s.transform,\n",
        "        s.priors,\n",
        "fits on another scale have the same name",
        "campaign/test_fitting.py",
    ),
    Mistake(
        "campaign/outlook.py",
        "return (self.error_with_pending - self.error_after) / self.cost if self.cost else 0.0",
        "return (self.error_now - self.error_after) / self.cost if self.cost else 0.0",
        "the gain of a batch counts what is pending",
        "campaign/test_outlook.py",
    ),
    Mistake(
        "campaign/outlook.py",
        "rest = fall / outlook.entries * outlook.entries_left",
        "rest = fall",
        "the advice depends on the size of the batch",
        "campaign/test_outlook.py",
    ),
    Mistake(
        "summary/error_curve.py",
        "ends = ends[ends >= max(fits.FIRST_ANCHOR, least)]",
        "ends = np.arange(max(fits.FIRST_ANCHOR, int(least)), n + 1)",
        "an import has a past in the order of its lines",
        "summary",
    ),
    Mistake(
        "campaign/policy.py",
        "if 2 * told < wanted:",
        "if told < wanted:",
        "the initial design waits for all of its values",
        "campaign/test_policy.py",
    ),
    Mistake(
        "campaign/settings.py",
        "mask[: self.shape[0], : self.shape[1]] = self.mask",
        "pass",
        "added rows open what the mask had closed",
        "campaign/test_settings.py",
    ),
    Mistake(
        "campaign/ledger/tables.py",
        "over = self.expires_at is not None and now >= self.expires_at - self.lead(now)",
        "over = False",
        "nothing expires",
        "campaign/test_campaign.py campaign",
    ),
    Mistake(
        "campaign/state.py",
        "counted = (status == TOLD) | (status == FAILED) | (status == RETRY)",
        "counted = status == TOLD",
        "what failed is not paid for",
        "campaign/test_campaign.py",
    ),
    Mistake(
        "acquisition/draw_field.py",
        "        F *= np.sqrt(self._shares_at(rows, cols))[:, None]\n",
        "",
        "a measurement tells as much of every entry",
        "acquisition/test_own_noise.py",
    ),
    Mistake(
        "belief.py",
        "told = sums[:, 0] - (p * np.log",
        "told = -(p * np.log",
        "an answer that is a toss-up is taken for one that tells much",
        "acquisition/test_own_noise.py",
    ),
    Mistake(
        "campaign/fits.py",
        "    if not valued.all():\n        limited[",
        "    if False:\n        limited[",
        "a told limit counts as known in the expected error",
        "campaign/test_limits.py",
    ),
    Mistake(
        "campaign/fits.py",
        "halfway - repeat_variance(state, values)",
        "0.0",
        "the expected error leaves out what the pattern misses",
        "campaign/test_outlook.py",
    ),
    Mistake(
        "campaign/address.py",
        "secret = [name for name in url.query if",
        "secret = [name for name in () if",
        "a password in the query of an address is shown",
        "campaign/test_address.py",
    ),
    Mistake(
        "campaign/backup.py",
        "            if report.problems:\n",
        "            if False:\n",
        "a damaged storage replaces a good backup",
        "campaign/test_backup.py",
    ),
    Mistake(
        "campaign/events.py",
        'author = "null" if who is None else _quote(who)',
        'author = "null"',
        "the author of an event can be changed unnoticed",
        "campaign/test_chain.py",
    ),
    Mistake(
        "campaign/events.py",
        "if link.digest is not None and stored != link.digest:",
        "if False:",
        "another copy of a storage in use is not noticed",
        "campaign/test_chain.py",
    ),
    Mistake(
        "campaign/schema.py",
        "digest = events.next_digest(digest, *row)",
        "digest = events.next_digest('', *row)",
        "upgraded files cannot be read",
        "campaign/test_migrations.py",
    ),
    Mistake(
        "campaign/storage.py",
        'cursor.execute("PRAGMA foreign_keys = ON")',
        "pass",
        "events of campaigns that are not there can be written",
        "campaign/test_durability.py",
    ),
    Mistake(
        "campaign/storage.py",
        ".where(EVENTS.c.campaign_id == key.id, EVENTS.c.number >= since)",
        ".where(EVENTS.c.number >= since)",
        "campaigns in one file read each other's events",
        "campaign/test_address.py contracts/test_storages.py",
    ),
    Mistake(
        "campaign/tell.py",
        'for ask in asks if (ask.status, ask.retry) != ("failed", retry))',
        "for ask in asks)",
        "a failure that is reported twice is written twice",
        "campaign",
    ),
    Mistake(
        "campaign/views.py",
        "np.where(count > 0, total / np.maximum(count, 1.0), np.nan)",
        "np.where(count > 0, total, np.nan)",
        "wide exports add replicates up",
        "campaign",
    ),
]
SHARED = [
    Mistake(
        "belief.py",
        "x += self.mu[s] + self.row[s, i] + self.col[s, j]",
        "x += self.row[s, i] + self.col[s, j]",
        "single entries have no level",
        "test_belief.py",
    ),
    Mistake(
        "transform.py",
        "return _log((y - self.low) / (self.high - y))",
        "return _log((y - self.low) / (1.0 - y))",
        "percentages are mapped as if they were shares",
        "test_transform.py",
    ),
    Mistake(
        "summary/error_curve.py",
        "return (up - down) / 2",
        "return up - down",
        "the noise of a measurement counts twice in what was expected",
        "summary plots",
    ),
    Mistake(
        "summary/reasons.py",
        "itself = own**2 / noisy",
        "itself = own / noisy",
        "the part of an entry in what it teaches",
        "summary",
    ),
    Mistake(
        "summary/maps.py",
        'return Cells(means if what == "mean" else np.sqrt(means), share)',
        "return Cells(means, share)",
        "binned maps show variances for standard deviations",
        "summary",
    ),
]
MISTAKES = [*KERNELS, *MODEL, *DESIGN, *COMPLETION, *ACQUISITION, *POSTERIOR, *CAMPAIGN, *SHARED]

"""Calls of the Python interface with odd values in one or several places."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.fuzz import values
from tests.fuzz.cases import Case, pick

from maxentry import Campaign, InverseGamma, Observations, Posterior, Priors, Sampling, complete
from maxentry.acquisition.criteria import CRITERIA, choose
from maxentry.acquisition.problem import Costs, Limits, Problem
from maxentry.belief import Entries
from maxentry.campaign.storage import Storage
from maxentry.completion.nuclear_norm import nuclear_norm
from maxentry.design.balanced import balanced
from maxentry.design.latin import random_square
from maxentry.design.uniform import uniform
from maxentry.transform import Transform

TINY = Sampling("population", chains=2, anneal=1, settle=1, draws=2, thin=1)
MATRIX = np.array([[1.0, np.nan, 2.0], [0.5, 3.0, np.nan], [np.nan, 4.0, 5.0], [2.5, 6.0, 1.5]])
OPTIONS = (
    "rank", "noise", "effects", "priors", "transform", "sampling", "start", "seed", "threads", "dtype", "watch",
    "shape", "row_labels", "col_labels", "row", "col", "value", "row_column",
)  # fmt: skip
SETTINGS = (
    "rank", "acquisition", "noise", "effects", "priors", "transform", "range", "costs", "mask", "lease", "n_initial",
    "again", "target_sd", "budget", "per_row", "per_col", "plates", "x",
)  # fmt: skip
AS_NEW = 40  # calls until a campaign is begun anew
LARGEST = 10**4  # rows, or draws: what is accepted must end soon


def small(rng: Random) -> Any:
    """An odd value that is no large whole number: such a wish is granted, and takes long."""
    made = values.value(rng)
    return 3 if isinstance(made, int | np.integer) and made > LARGEST else made


class PythonCalls:
    """The public names, each called with odd values."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0
        self.campaign = Campaign.create("sqlite://", "x", ["r1", "r2", "r3"], ["c1", "c2"], seed=1)

    @cached_property
    def posterior(self) -> Posterior:
        return complete(MATRIX, rank=1, sampling=TINY, seed=1, threads=1)

    def case(self, rng: Random) -> Case:
        self.made += 1
        if self.made % AS_NEW == 0:
            self.campaign.close()
            self.campaign = self.created(rng)
        kinds = [
            self.observe, self.complete, self.construct, self.settings, self.change, self.change, self.change,
            self.look, self.ask_posterior, self.design, self.choose, self.estimate, self.point, self.plot,
        ]  # fmt: skip
        return rng.choice(kinds)(rng)

    # Data

    def observe(self, rng: Random) -> Case:
        how = rng.choice((Observations.of, Observations.from_array, Observations.from_sparse, Observations.from_wide,
                          Observations.from_long, Observations.from_triples, Observations))  # fmt: skip
        if how in (Observations.from_triples, Observations):
            rows, cols = (pick(rng, [0, 1, 2], values.value) for _ in range(2))
            given = pick(rng, [0.5, 1.0, 2.0], values.value)
            shape = pick(rng, (4, 3), values.value)
            args = (
                (rows, cols, given, shape) if how == Observations.from_triples else (shape, rows, cols, given)
            )
            if rng.random() < 0.3:
                args += (small(rng), small(rng))
            return called(how, *args)
        maker = {"from_sparse": values.broken_sparse, "from_wide": values.frame, "from_long": values.frame}
        names = {k: small(rng) for k in rng.sample(OPTIONS[-7:], rng.choice((0, 0, 1, 2)))}
        options = names if how == Observations.of else {}
        return called(how, maker.get(how.__name__, values.value)(rng), **options)

    def complete(self, rng: Random) -> Case:
        options: dict[str, Any] = {"rank": 1, "sampling": TINY, "seed": 1, "threads": 1}
        if rng.random() < 0.3:
            data = values.broken_sparse(rng) if rng.random() < 0.3 else values.value(rng)
            return called(complete, data, **options)
        names = rng.sample(OPTIONS, rng.choice((1, 1, 2)))
        return called(complete, MATRIX, **options | {name: small(rng) for name in names})

    def construct(self, rng: Random) -> Case:
        what, n = rng.choice(
            ((InverseGamma, 2), (Priors, 5), (Sampling, 6), (Transform, 3), (Limits, 3), (Transform.parse, 1))
        )
        good: list[Any] = {Priors: [InverseGamma(1.0, 1.0)] * 4 + [1.0], InverseGamma: [1.0, 1.0]}.get(
            what, []
        )  # type: ignore[call-overload]
        args = [pick(rng, good[k] if good else small(rng), small) for k in range(n)]
        return called(what, *args)

    # Campaigns

    def created(self, rng: Random) -> Campaign:
        return Campaign.create(
            "sqlite://", "x", ["r1", "r2", "r3"], ["c1", "c2"], seed=1, rank=1,
            acquisition=rng.choice(("balanced", "uniform")),
        )  # fmt: skip

    def digest(self) -> object:
        records = self.campaign._storage.events(self.campaign.key)
        return len(records), str(records[-1:])

    def settings(self, rng: Random) -> Case:
        given = {name: small(rng) for name in rng.sample(SETTINGS, rng.choice((1, 1, 2)))}
        if rng.random() < 0.5:
            return self.on_campaign("set", **given)
        places = {"name": "y", "rows": ["a", "b"], "cols": 3, "seed": 1}
        if rng.random() < 0.5:
            places[rng.choice(tuple(places))] = small(rng)
        if rng.random() < 0.2:
            given |= {"values": small(rng)}
        if rng.random() < 0.1:
            given |= {rng.choice(("frame", "who", "exist_ok")): small(rng)}
        storage = Storage("sqlite://", create=True)
        name, rows, cols = (places.pop(each) for each in ("name", "rows", "cols"))
        return called(Campaign.create, storage, name, rows, cols, **places, **given, digest=storage.names)

    def change(self, rng: Random) -> Case:
        def odd(good: Any) -> Any:
            return pick(rng, good, small, 0.6)

        name = rng.choice(("tell", "tell", "ask", "correct", "fail", "withdraw", "add_rows", "add_cols"))
        more = {"who": small(rng)} if rng.random() < 0.1 else {}
        if name == "tell":
            way = rng.randrange(3)
            if way == 0:
                return self.on_campaign("tell", odd([1]), odd([0.5]), **more)
            if way == 1:
                return self.on_campaign(
                    "tell", row=odd("r1"), col=odd("c1"), value=odd(0.5), again=odd(False), **more
                )
            table = {
                name: odd(["1"]) for name in ("id", "row", "col", "value", "status") if rng.random() < 0.6
            }
            return self.on_campaign("tell", pick(rng, table, values.value), **more)
        if name == "ask":
            limits = {
                k: small(rng) for k in rng.sample(("plates", "per_row", "per_col", "frame"), rng.randrange(2))
            }
            return self.on_campaign("ask", odd(1), progress=False, **limits, **more)
        if name == "correct":
            which = {k: small(rng) for k in rng.sample(("row", "col", "number", "reason"), rng.randrange(3))}
            return self.on_campaign("correct", odd(1), odd(0.5), **which, **more)
        if name in ("fail", "withdraw"):
            return self.on_campaign(name, odd([1]), odd(""), **more)
        return self.on_campaign(name, odd(["z"]), cost=odd(None), **more)

    def look(self, rng: Random) -> Case:
        name = rng.choice(("asked", "pending", "history", "export"))
        more = {"wide": small(rng)} if name == "export" else {}
        return self.on_campaign(name, frame=small(rng), **more)

    def on_campaign(self, name: str, *args: Any, **options: Any) -> Case:
        return called(getattr(self.campaign, name), *args, **options, digest=self.digest)

    # Posteriors and figures

    def ask_posterior(self, rng: Random) -> Case:
        p, one = self.posterior, partial(small, rng)
        calls: tuple[tuple[Any, list[Any]], ...] = (
            (p.predict, [one(), one(), 0.9]),
            (p.predict, [0, [0, 1], one()]),
            (p.interval, [one()]),
            (p.predictive_interval, [one()]),
            (p.sample, [one(), one()]),
            (p.to_frame, [one(), one(), one()]),
            (p.to_frame, ["wide", "low", one()]),
            (p.framed, [one()]),
            (p.more, [one()]),
            (p.save, [pick(rng, one(), lambda r: r.choice((str(self.folder), "/x/y", "", "\x00")))]),
            (Posterior.load, [one()]),
            (p.observations.row_index, [one()]),
            (p.observations.subset, [one()]),
        )
        call, args = rng.choice(calls)
        return called(call, *args)

    def plot(self, rng: Random) -> Case:
        from maxentry import plots

        name = rng.choice(("observed", "mean", "sd", "width", "calibration", "trace", "rhat", "singular_values",
                           "coherence", "history", "next_batch"))  # fmt: skip
        source = pick(rng, self.posterior, small, 0.2)
        options = {}
        if name == "width" or name in ("singular_values", "coherence", "calibration"):
            options["level"] = small(rng)
        elif name in ("observed", "mean", "sd"):
            options["order"] = small(rng)
        if name in ("observed", "mean", "trace", "singular_values"):
            options["unit"] = small(rng)
        return called(getattr(plots, name), source, **options)

    # Designs, criteria, estimates

    def design(self, rng: Random) -> Case:
        def odd(good: Any) -> Any:
            return pick(rng, good, small)

        if rng.random() < 0.2:
            return called(random_square, odd(3), odd(np.random.default_rng(1)), odd(None))
        how = rng.choice((balanced, uniform))
        more = {"row_counts": odd(None), "col_counts": odd(None)} if how is balanced else {}
        return called(how, odd((4, 3)), odd(2), mask=odd(None), seed=odd(1), **more, taken=odd(None))

    def choose(self, rng: Random) -> Case:
        def odd(good: Any) -> Any:
            return pick(rng, good, small, 0.3)

        which, belief, shape = odd(rng.choice(tuple(CRITERIA))), odd(self.posterior.belief), odd((4, 3))
        observed, mask, again = odd(Entries.none()), odd(None), odd(False)
        parts, limits, n = {k: odd(None) for k in ("entry", "row", "col")}, odd(Limits()), odd(1)
        costs, seed = odd(Costs(**parts)), odd(np.random.default_rng(1))

        def pose(*_: Any) -> Any:
            problem = Problem(shape, observed, mask=mask, again=again, costs=costs, limits=limits)
            return choose(which, belief, problem, n, rng=seed)

        return called(pose, which, belief, shape, observed, mask, again, parts, limits, n, seed)

    def estimate(self, rng: Random) -> Case:
        from maxentry.estimators import BayesianCompleter, NuclearNormCompleter

        bayesian = rng.random() < 0.5

        def fit(option: str, given: Any) -> Any:
            base: dict[str, Any] = (
                {"sampling": TINY, "rank": 1} if bayesian else {"penalty": 1.0, "max_iter": 9}
            )
            made = (BayesianCompleter if bayesian else NuclearNormCompleter)(**base | {option: given})
            return made.fit_transform(MATRIX)  # odd data are refused as scikit-learn refuses them

        names = ("rank", "noise", "effects", "priors", "sampling", "random_state", "threads") if bayesian else (
            "penalty", "center", "tol", "max_iter", "random_state")  # fmt: skip
        return called(fit, rng.choice(names), small(rng))

    def point(self, rng: Random) -> Case:
        data = pick(rng, Observations.of(MATRIX), small, 0.2)
        good = {"penalty": 1.0, "tol": 1e-3, "max_iter": 9, "seed": 1}
        return called(nuclear_norm, data, **good | {rng.choice((*good, "center", "warm_start")): small(rng)})


def called(
    how: Callable[..., Any], *args: Any, digest: Callable[[], object] = lambda: None, **options: Any
) -> Case:
    """A call with these words and options."""
    name = getattr(how, "__qualname__", str(how))
    words = [values.shown(x) for x in args] + [f"{k}={values.shown(x)}" for k, x in options.items()]
    return Case(f"{name}({', '.join(words)})", lambda: how(*args, **options), digest)

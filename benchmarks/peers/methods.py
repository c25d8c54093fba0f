"""Who takes part: ours and the peers, how each is set, and what each cannot do."""

from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.problems import Problem

WORKERS = Path(__file__).parent / "workers"


class Method(NamedTuple):
    """One side of the comparison."""

    name: str
    title: str
    worker: str
    imports: str  # what a user imports
    settings: str
    draws: bool = True  # of the posterior
    tuned: bool = False  # by held-out prediction, before anything is timed
    threads: bool = True  # whether a fit can use more than one
    repeats: int = 9  # of a timed run at most, where one takes long
    left_out: tuple[tuple[str, str], ...] = ()  # problems, and why

    def why_not(self, problem: Problem) -> str:
        """Why it is not run on the problem; empty where it is."""
        return dict(self.left_out).get(problem.name, "")


OURS = Method(
    "maxentry", "maxentry", "ours.py", "from maxentry import complete",
    "one chain of the default sampler (Gaussian noise, row and column effects, weak priors, double precision), from a "
    "draw of the prior, annealed over the first fifth of the burn-in",
)  # fmt: skip
TOO_LONG = "NUTS takes whole trajectories for a draw; 1,000 x 1,000 shows where that leads"
PEERS = [
    Method(
        "smurff", "SMURFF 1.1", "smurff_worker.py", "import smurff",
        "BPMF: `normal` priors on both sides, `AdaptiveNoise(1, 1000)`, values less their global mean; its wheel from "
        "PyPI, single precision",
    ),
    Method(
        "myfm", "myFM 0.4.0", "myfm_worker.py", "import myfm",
        "`MyFMRegressor(rank=R)` on one-hot rows and columns with a group for each (`group_shapes`), all else by "
        "default; it samples on one thread whatever the machine",
        threads=False,
    ),
    Method(
        "numpyro", "NumPyro 0.22", "numpyro_worker.py", "import numpyro",
        "NUTS, all defaults (target 0.8, depth 10, diagonal masses; warm-up is the burn-in), on a PMF with row and "
        "column effects, factors not centred; single precision; compiled programs kept on disk between processes",
        repeats=1,
        left_out=(("ml-100k", TOO_LONG), ("ml-1m", TOO_LONG), ("1e7", TOO_LONG)),
    ),
    Method(
        "cmfrec", "cmfrec 3.5", "cmfrec_worker.py", "import cmfrec",
        "`CMF` by alternating least squares with biases, all defaults (single precision, three steps of conjugate "
        "gradients an iteration) but the penalty, which is chosen by prediction of a tenth of the entries beforehand; "
        "compiled from source for this processor",
        draws=False, tuned=True,
    ),
    Method(
        "fancyimpute", "fancyimpute 0.7 SoftImpute", "fancyimpute_worker.py", "import fancyimpute",
        "shrunken row and column means taken off; truncated SVDs; shrinkage and largest rank (R or 3 R) chosen by "
        "prediction of a tenth of the entries beforehand; an iteration is timed at largest rank R",
        draws=False, tuned=True,
        left_out=(("1e7", "it works on the dense matrix, 16 GB and several copies of it"),),
    ),
]  # fmt: skip
METHODS = [OURS, *PEERS]

"""Run in BayBE's environment: `baybe_worker.py JOB.npz RESULT.npy`. A campaign by its defaults.

Rows and columns are one-hot. The job has the table (NaN where nothing can be measured), the keys of the first entries,
the entries of a batch, the batches and a seed. The result has the keys of all that was measured, in order.
"""

import sys

import numpy as np
import pandas as pd
import torch
from baybe import Campaign
from baybe.objectives import SingleTargetObjective
from baybe.parameters import CategoricalParameter
from baybe.searchspace import SearchSpace
from baybe.settings import Settings
from baybe.targets import NumericalTarget


def main(job_file, result_file):
    torch.set_num_threads(1)
    with np.load(job_file) as f:
        job = dict(f)
    M, keys = job["M"], job["keys"]
    m2 = M.shape[1]
    Settings(random_seed=int(job["seed"])).activate()

    def named(at):
        rows, cols = np.divmod(at, m2)
        return pd.DataFrame({"row": [f"r{i:03}" for i in rows], "col": [f"c{j:03}" for j in cols]})

    every = named(np.flatnonzero(~np.isnan(M)))
    parameters = [CategoricalParameter(name, sorted(every[name].unique()), encoding="OHE") for name in every]
    space = SearchSpace.from_dataframe(every, parameters)
    objective = SingleTargetObjective(NumericalTarget("value"))
    campaign = Campaign(space, objective, allow_recommending_already_measured=False)

    def tell(at):
        campaign.add_measurements(named(at).assign(value=M.ravel()[at]))

    tell(keys)
    for _ in range(int(job["batches"])):
        asked = campaign.recommend(int(job["batch"]))
        rows, cols = (asked[name].str[1:].astype(int).to_numpy() for name in ("row", "col"))
        tell(rows * m2 + cols)
        keys = np.concatenate([keys, rows * m2 + cols])
        print(len(keys), flush=True)
        np.save(result_file, keys)


if __name__ == "__main__":
    main(*sys.argv[1:])

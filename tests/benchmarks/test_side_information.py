"""The benchmark of features: what is held out, and how runs become lines."""

import numpy as np
from benchmarks.side_information import against_macau, harmless, problems


def test_cold_rows_have_nothing_to_learn_from_and_nothing_is_learnt_from_what_is_predicted():
    problem = problems.fingerprints(0)
    task, cold = problem.task, problem.cold
    assert not np.isin(task.test_rows[cold], task.rows).any()
    assert np.isin(task.test_rows[~cold], task.rows).mean() > 0.9
    cells = [
        rows * task.shape[1] + cols
        for rows, cols in ((task.rows, task.cols), (task.test_rows, task.test_cols))
    ]
    assert not np.isin(*cells).any()
    assert problem.row_features.shape == (2000, 1000)
    assert 0.04 < task.values.size / (task.shape[0] * task.shape[1]) < 0.05


def test_runs_become_lines():
    figures = dict(zip(against_macau.COLUMNS, np.arange(1.0, 7.0)[:, None], strict=True))
    twice = {name: 2 * x for name, x in figures.items()}
    lines = against_macau.describe(
        "t", "Macau, CG", {"features": figures, "plain": figures, "Macau, CG": twice}
    )
    assert lines[0].value.startswith("0.500")
    assert "2.0 (5.0 s and 10.0 s, CG)" in [line.value for line in lines]
    assert harmless.spread([1.0, 1.02]) == "1.0100 ± 0.0100 (worst of 2: 1.020)"

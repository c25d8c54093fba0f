"""The Python of docs/studies.md does what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


@pytest.mark.slow
def test_the_example_answers_the_question(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (block,) = (block for block in blocks if "compare_cells" in block)  # another makes the matrix
    rng = np.random.default_rng(0)
    matrix = np.add.outer(rng.normal(size=20), rng.normal(size=15))
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/studies.md", "exec"), {"matrix": matrix})
    assert "active sampling" in capsys.readouterr().out
    assert (tmp_path / "my-study" / "runs.jsonl").stat().st_size > 0

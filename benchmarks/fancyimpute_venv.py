"""A virtual environment of its own for fancyimpute, which needs scikit-learn < 1.6."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv-fancyimpute" / "bin" / "python"


def ensure() -> Path:
    """The environment's interpreter; made on first use."""
    if (
        PYTHON.exists()
        and subprocess.run([PYTHON, "-c", "import fancyimpute"], capture_output=True).returncode == 0
    ):
        return PYTHON
    subprocess.run([sys.executable, "-m", "venv", PYTHON.parent.parent], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "scikit-learn<1.6", "knnimpute", "cvxpy"], check=True)
    subprocess.run(
        [*pip, "--no-deps", "fancyimpute==0.7.0"], check=True
    )  # its nose and pytest are not needed
    return PYTHON


if __name__ == "__main__":
    print(ensure())

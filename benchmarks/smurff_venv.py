"""A virtual environment of its own for SMURFF 1.1, so that nothing of it is a dependency of ours."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv-smurff" / "bin" / "python"


def ensure() -> Path:
    """The environment's interpreter; made on first use."""
    if (
        PYTHON.exists()
        and subprocess.run([PYTHON, "-c", "import smurff"], capture_output=True).returncode == 0
    ):
        return PYTHON
    subprocess.run([sys.executable, "-m", "venv", PYTHON.parent.parent], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "smurff==1.1"], check=True)
    return PYTHON


if __name__ == "__main__":
    print(ensure())

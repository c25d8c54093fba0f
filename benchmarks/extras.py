"""How much the extras weigh: bytes installed beyond the base, and how long imports take.

    python -m benchmarks.extras [--extras plots server] [--keep folder]    # writes benchmarks/extras.md

Each extra is installed into a fresh virtual environment by pip, without bytecode, and its site-packages are added up
file by file, less pip itself. Imports are timed in fresh interpreters of the environment with `plots`, by CPU
seconds, which other work on the machine changes little: the median of several, each beside one that does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = Path(__file__).with_suffix(".md")
TIMES = 5
IMPORTS = {
    "`import numpy`, to compare": "import numpy",
    "`import maxentry`": "import maxentry",
    "`import maxentry.plots`": "import maxentry.plots",
    "`maxentry.plots.mean`, so what is needed to make a record": "from maxentry.plots import mean",
    "the same and matplotlib": "from maxentry.plots import mean; import matplotlib.figure",
    "the same and plotly": "from maxentry.plots import mean; import plotly.graph_objects",
}


def environment(folder: Path, extra: str) -> Path:
    """A fresh environment with the package and one extra; the path of its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    what = f"{ROOT}[{extra}]" if extra else str(ROOT)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", what], check=True)
    return python


def packages(folder: Path) -> dict[str, int]:
    """Bytes by top-level entry of site-packages, less pip and bytecode."""
    (site,) = folder.glob("lib/python*/site-packages")
    found = {}
    for entry in site.iterdir():
        if not entry.name.startswith(("pip", "__pycache__")):
            files = [entry] if entry.is_file() else [f for f in entry.rglob("*") if f.is_file()]
            found[entry.name] = sum(f.stat().st_size for f in files if f.suffix != ".pyc")
    return found


def names(folder: Path) -> dict[str, str]:
    """The distributions that are installed, by name."""
    (site,) = folder.glob("lib/python*/site-packages")
    return {d.metadata["Name"].lower(): d.version for d in distributions(path=[str(site)])}


def seconds(python: Path, code: str) -> float:
    """The median CPU time of a fresh interpreter that runs this, less that of one that does nothing."""
    quiet = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"OMP_NUM_THREADS": "1"}

    def once(what: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([python, "-c", what], check=True, env=quiet)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    once(code)  # bytecode is written, files are read
    return statistics.median(once(code) - once("pass") for _ in range(TIMES))


def table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--extras", nargs="+", default=["plots", "server"])
    options.add_argument(
        "--keep", type=Path, help="where to make the environments, or find them; else they are deleted"
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        where = given.keep or Path(temporary)
        measured: dict[str, dict[str, int]] = {}
        known: dict[str, dict[str, str]] = {}
        for extra in ["", *given.extras]:
            folder = where / (extra or "base")
            environment(folder, extra)
            measured[extra], known[extra] = packages(folder), names(folder)
            print(extra or "base", json.dumps(sum(measured[extra].values())), flush=True)
        timed = where / ("plots" if "plots" in given.extras else "base") / "bin" / "python"
        waits = {name: seconds(timed, code) for name, code in IMPORTS.items() if _possible(timed, code)}
    base = sum(measured[""].values())
    own = measured[""].get("maxentry", 0)
    lines = [
        ["(none)", f"{base / 1e6:.1f}", "", f"{len(known[''])} packages; maxentry itself {own / 1e6:.1f} MB"]
    ]
    for extra in given.extras:
        total = sum(measured[extra].values())
        new = sorted(set(known[extra]) - set(known[""]))
        lines.append([f"`{extra}`", f"{total / 1e6:.1f}", f"{(total - base) / 1e6:.1f}", ", ".join(new)])
    text = (
        f"# What the extras weigh\n\nWritten by `python -m benchmarks.extras`; Python {platform.python_version()} on "
        f"{sys.platform}, fresh environments, files without bytecode, pip not counted.\n\n"
        + table(["extra", "MB installed", "MB beyond the base", "what comes with it"], lines)
        + f"\n\nImports in CPU seconds, the median of {TIMES} fresh interpreters less one that does nothing (a "
        "busy machine takes a little longer; the first line is for scale):\n\n"
        + table(["", "CPU seconds"], [[name, f"{wait:.2f}"] for name, wait in waits.items()])
        + "\n"
    )
    OUT.write_text(text)
    print(text)


def _possible(python: Path, code: str) -> bool:
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()

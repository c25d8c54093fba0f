"""First use: importing, `maxentry --help`, compiling the kernels, and the first `complete` once they are compiled.

    .venv/bin/python benchmarks/first_use.py            # writes benchmarks/first_use.md
    .venv/bin/python benchmarks/first_use.py --quick    # one turn, without compiling; writes nothing

Each in a process of its own, in turn, several times; the least is shown, in seconds passed and of the processor.
Kernels are compiled into an empty folder, and read from there by a second copy of the package at another place, as
another virtual environment would.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measures import table

import maxentry

FIRST = """
import numpy as np, maxentry
Y = np.random.default_rng(0).normal(size=(12, 8))
plan = maxentry.Sampling(chains=2, anneal=2, settle=2, draws=4, thin=1)
maxentry.complete(Y, rank=2, sampling=plan, seed=0, progress=False)
"""
ASK = (
    FIRST
    + """
from maxentry.acquisition import CRITERIA, Problem, choose
posterior = maxentry.complete(Y, rank=2, sampling=plan, seed=0, progress=False)
for name in CRITERIA:
    choose(name, posterior.belief, Problem((12, 8)), 2, rng=np.random.default_rng(0))
"""
)
QUICK = {
    "python -c pass": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import maxentry": ["-c", "import maxentry"],
    "maxentry --help": ["-m", "maxentry", "--help"],
    "maxentry ask --help": ["-m", "maxentry", "ask", "--help"],
    "maxentry --version": ["-m", "maxentry", "--version"],
    "from maxentry import complete": ["-c", "from maxentry import complete"],
    "import numba": ["-c", "import numba"],
}


def run(arguments: list[str], **settings: str) -> tuple[float, float]:
    """Seconds passed and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **settings}, check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imports(turns: int) -> str:
    run(["-c", "import maxentry.cli.main, numpy, numba, maxentry.posterior.complete"])  # compiled to .pyc
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in QUICK}
    for _ in range(turns):
        for name, arguments in QUICK.items():
            found[name].append(run(arguments))
    least = {name: [min(times) for times in zip(*runs, strict=True)] for name, runs in found.items()}
    lines = [
        [f"`{name}`", f"{seconds:.3f}", f"{cpu:.3f}", f"{cpu / least['import numpy'][1]:.2f}"]
        for name, (seconds, cpu) in least.items()
    ]
    return "## Importing\n\n" + table(["", "seconds", "CPU seconds", "over `import numpy` (CPU)"], lines)


def compiling() -> str:
    """Cold, warm, and warm for a copy of the package elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "elsewhere"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(maxentry.__file__).parent, other / "maxentry", ignore=ignored)
        home = {"XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": ""}
        lines = [
            ["first `complete`, kernels compiled", *run(["-c", FIRST], **home)],
            ["the same again, another process", *run(["-c", FIRST], **home)],
            ["the same, another virtual environment", *run(["-c", FIRST], **home, PYTHONPATH=str(other))],
            ["`complete` and every criterion: what the others need is compiled", *run(["-c", ASK], **home)],
            ["the same again", *run(["-c", ASK], **home)],
        ]
    texts = [[what, f"{seconds:.1f}", f"{cpu:.1f}"] for what, seconds, cpu in lines]
    return "## Compiling\n\nStarting Python and importing included.\n\n" + table(
        ["", "seconds", "CPU seconds"], texts
    )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true")
    given = options.parse_args()
    if given.quick:
        print(imports(1))
        return
    text = f"# First use\n\n{''.join(__doc__.partition('Each in')[1:])}\n{imports(9)}\n{compiling()}"
    print(text)
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()

"""Plant every mistake in a copy of the tree, and see whether `make test` finds it: `python -m tests.planted`.

    python -m tests.planted                      all of them
    python -m tests.planted kernels campaign     those whose file begins so
    python -m tests.planted --without frozen     and by other tests than those of recorded digests

For each the tests that should see it run first, and all the others only where these saw nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.conftest import MARKS
from tests.planted.mistakes import MISTAKES, Mistake

ROOT = Path(__file__).parents[2]
PATIENCE = 3600  # seconds for all the tests


class Tree:
    """A copy of the files that git knows, with compiled kernels of its own for mistakes in them."""

    def __init__(self, folder: Path, left_out: list[str], only_near: bool) -> None:
        self.folder, self.left_out, self.only_near = folder, left_out, only_near
        names = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        for name in names:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)

    def find(self, mistake: Mistake) -> str | None:
        """The test that fails with this mistake in the tree; None if none does."""
        file = self.folder / "src" / "maxentry" / mistake.file
        text = file.read_text(encoding="utf-8")
        assert text.count(mistake.right) == 1, f"{mistake.file} does not have once: {mistake.right}"
        file.write_text(text.replace(mistake.right, mistake.wrong), encoding="utf-8")
        try:
            first = [f"tests/{path}" for path in mistake.tests.split() if path not in self.left_out]
            found = self._run(mistake, first) if first else None
            return found if found or self.only_near else self._run(mistake, ["tests"])
        finally:
            file.write_text(text, encoding="utf-8")

    def _run(self, mistake: Mistake, paths: list[str]) -> str | None:
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths]
        words += ["-m", f"not ({' or '.join(MARKS)})", *(f"--ignore=tests/{name}" for name in self.left_out)]
        words += ["-n", "auto"] if paths == ["tests"] else []
        # It would be found by the list itself, which no longer fits.
        words += ["--ignore=tests/planted"]
        environment = os.environ | {"PYTHONPATH": str(self.folder / "src"), "OPENBLAS_NUM_THREADS": "1"}
        if mistake.file.startswith("kernels/"):
            environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        if done.returncode == 0:
            return None
        if done.returncode != 1:
            return f"nothing can be run: {done.stdout[-500:]}{done.stderr[-500:]}"
        named = re.search(r"^(?:\w*FAILED|ERROR)\S* (.*?)(?: - .*)?$", done.stdout, flags=re.MULTILINE)
        return named[1] if named else f"a test without a name: {done.stdout[-500:]}{done.stderr[-500:]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted")
    parser.add_argument("files", nargs="*", help="beginnings of files below src/maxentry")
    parser.add_argument("--without", action="append", default=[], help="leave out tests/WITHOUT")
    parser.add_argument("--near", action="store_true", help="run only the tests that should see it first")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = [m for m in MISTAKES if not options.files or m.file.startswith(tuple(options.files))]
    with tempfile.TemporaryDirectory(prefix="planted-") as scratch, ThreadPoolExecutor(options.jobs) as pool:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for k in range(options.jobs):
            trees.put(Tree(Path(scratch) / str(k), options.without, options.near))

        def plant(mistake: Mistake) -> bool:
            tree, began = trees.get(), time.monotonic()
            try:
                found = tree.find(mistake)
            finally:
                trees.put(tree)
            print(
                f"{time.monotonic() - began:5.0f} s  {mistake.name}\n         {found or 'NOT FOUND'}",
                flush=True,
            )
            return found is not None

        found = list(pool.map(plant, chosen))
    print(f"{sum(found)} of {len(found)} mistakes found")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())

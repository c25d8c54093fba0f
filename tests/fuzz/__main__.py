"""Call everything with odd values, and count what goes wrong.

    python -m tests.fuzz --n 100000 [--seed S] [--only python|cli|rest|files] [--seconds 60] [-o build/fuzz.md]

Python, files, the command line and REST share the n calls (SHARES). Each runs in a process of its own that can write to
a scratch folder only: as root, it becomes the user nobody. A process that says nothing for --seconds of its
processor's time, or does nothing at all for so long, is killed and counted as a hang; one that dies, as a crash; the
next call goes on in another. Ends with 1 if anything went wrong.
Beside the table a file of the same name ending in .json has the counts and the slowest calls.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from tests.fuzz.cases import ENDINGS, GOOD
from tests.fuzz.worker import SURFACES

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
# Nobody may read everything (the interpreter may lie in somebody's home), and write nowhere but in the scratch folder.
BECOME_NOBODY = [
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search", "--bounding-set=-all,+dac_read_search", "--no-new-privs",
]  # fmt: skip
WORKER = ["-m", "tests.fuzz.worker"]
ROUND = 5000  # calls of one process, at most: memory that libraries keep is given back
IDLE = 0.1  # seconds: a process that uses less between two looks is waiting for something that does not come
START = 300.0  # seconds for a process to begin: kernels may have to be compiled
SHARES = {"python": 0.4, "files": 0.3, "rest": 0.15, "cli": 0.15}  # of the calls; the first two are quick
SLOWEST = 5  # calls of each surface that are shown


@dataclass
class Tally:
    """What came of the calls of one surface."""

    name: str
    endings: Counter[str] = field(default_factory=Counter)
    found: dict[str, tuple[int, str, str]] = field(
        default_factory=dict
    )  # by kind and place: number, call, words
    seconds: float = 0.0
    slowest: list[tuple[float, int, str]] = field(default_factory=list)  # seconds, number, call

    def time(self, k: int, what: str, seconds: float) -> None:
        self.slowest = sorted([*self.slowest, (round(seconds, 3), k, what)], reverse=True)[:SLOWEST]

    def count(self, k: int, what: str, ending: str, words: str = "") -> None:
        self.endings[ending] += 1
        if ending not in GOOD:
            place = words.rpartition("(")[2] if ending == "foreign" else words[:40]
            self.found.setdefault(f"{ending} {place}", (k, what, words))


def privileges() -> list[str]:
    """The words before a command that may write to its scratch folder only."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        sys.exit("expected a user without privileges, or setpriv to become one, got root without it")
    return BECOME_NOBODY


def scratch_folder() -> Path:
    """A new folder for whoever runs the calls, with the kernels that are compiled already."""
    from maxentry.kernels.jit_cache import cache_version, shared_folder

    folder = Path(tempfile.mkdtemp(prefix="maxentry-fuzz-"))
    compiled = shared_folder()
    if compiled is not None:
        kernels = folder / ".cache" / "maxentry" / "kernels" / cache_version()
        half_written = shutil.ignore_patterns("*.tmp.*")  # by others, and soon called otherwise
        shutil.copytree(compiled, kernels, ignore=half_written)
    if os.geteuid() == 0:
        for each in (folder, *folder.rglob("*")):
            os.chown(each, NOBODY, NOBODY)
    for each in (folder, *(f for f in folder.rglob("*") if f.is_dir())):
        each.chmod(0o700)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Nothing of ours but the path of the interpreter; caches and home in the scratch folder."""
    return {
        "PATH": os.environ.get("PATH", ""), "HOME": str(folder), "MAXENTRY_CACHE": str(folder / "fits"),
        "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "MPLBACKEND": "agg",
        "COLUMNS": "100000", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MAXENTRY_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1", "POLARS_MAX_THREADS": "1", "LANG": "C.UTF-8",
    }  # fmt: skip


def attack(name: str, seed: int, first: int, n: int, limit: float, folder: Path) -> Tally:
    """Make n calls, in as many processes as it takes."""
    tally, k, began = Tally(name), first, time.monotonic()
    while k < first + n:
        k = one_process(tally, seed, k, min(ROUND, first + n - k), limit, folder)
        print(f"{name}: {k - first} of {n}, {dict(tally.endings)}", flush=True)
    tally.seconds = time.monotonic() - began
    return tally


def one_process(tally: Tally, seed: int, first: int, n: int, limit: float, folder: Path) -> int:
    """Make calls until all are made or the process ends before; the number of the next call."""
    words = [*privileges(), sys.executable, *WORKER, tally.name]
    words += [str(seed), str(first), str(n), str(folder)]
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=errors,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env=environment(folder),
    )
    assert process.stdout is not None
    k, what, began, hung = first, None, time.monotonic(), False
    at_begin, at_last_look = 0.0, 0.0  # processor's time
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        os.set_blocking(process.stdout.fileno(), False)
        kept = b""
        while True:
            if not selector.select(limit if what is not None or k > first else START):
                busy = processor_time(process.pid)
                if busy - at_begin < limit and busy - at_last_look > IDLE:  # others keep it waiting
                    at_last_look = busy
                    continue
                hung = True
                process.kill()
                break
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            *whole, kept = (kept + chunk).split(b"\n")
            for line in whole:
                said: dict[str, Any] = json.loads(line)
                if "ending" in said:
                    tally.count(said["k"], what or "", said["ending"], said["words"])
                    tally.time(said["k"], what or "", time.monotonic() - began)
                    k, what = said["k"] + 1, None
                else:
                    what, began = said["what"], time.monotonic()
                    at_begin = at_last_look = processor_time(process.pid)
    process.wait()
    errors.seek(0)
    last = errors.read()[-1500:]
    if what is None and k < first + n and not hung and process.returncode:
        sys.exit(f"{tally.name}: the process ended between calls ({process.returncode}): {last}")
    if what is not None or hung:
        tally.count(
            k,
            what or "",
            "hang" if hung else "crash",
            "" if hung else f"ended with {process.returncode}: {last}",
        )
        k += 1
    return k


def processor_time(process: int) -> float:
    """Seconds that a process has used, without those of its children."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(tallies: list[Tally], seed: int, first: int) -> str:
    """A table of tries and endings, and one example of everything that went wrong."""
    lines = [
        f"Calls with odd values, seed {seed}, from number {first}.", "",
        f"| surface | tries | {' | '.join(ENDINGS)} | seconds | slowest call |", f"|---|{'---|' * (len(ENDINGS) + 3)}",
    ]  # fmt: skip
    for t in tallies:
        cells = [
            t.name,
            t.endings.total(),
            *(t.endings[e] for e in ENDINGS),
            f"{t.seconds:.0f}",
            f"{t.slowest[0][0] if t.slowest else 0:.1f} s",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for t in tallies:
        for kind, (k, what, words) in sorted(t.found.items()):
            said = " ".join(words.encode("ascii", "backslashreplace").decode().split())
            lines += [
                "",
                f"* **{t.name} {k}**: {kind.split()[0]}",
                f"    * `{what[:500]}`",
                f"    * {said[:700]}",
            ]
    return "\n".join(lines) + "\n"


def counts(tallies: list[Tally], seed: int, first: int) -> dict[str, Any]:
    """The same for programs."""
    surfaces = [
        {
            "surface": t.name, "tries": t.endings.total(), **{ending: t.endings[ending] for ending in ENDINGS},
            "seconds": round(t.seconds, 1),
            "slowest": [{"seconds": s, "number": k, "call": what[:500]} for s, k, what in t.slowest],
            "found": [
                {"ending": kind.split()[0], "number": k, "call": what[:500], "words": words[:700]}
                for kind, (k, what, words) in sorted(t.found.items())
            ],
        }
        for t in tallies
    ]  # fmt: skip
    return {"seed": seed, "first": first, "surfaces": surfaces}


def main(words: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=100_000, help="calls in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--only", choices=SURFACES, help="one surface alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="the longest that a call may take")
    parser.add_argument("-o", "--output", type=Path, default=Path("build") / "fuzz.md")
    given = parser.parse_args(words)
    shares = {given.only: 1.0} if given.only else SHARES
    folder = scratch_folder()
    try:
        tallies = [
            attack(name, given.seed, given.first, ceil(given.n * share), given.seconds, folder)
            for name, share in shares.items()
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = report(tallies, given.seed, given.first)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(text, encoding="utf-8")
    numbers = json.dumps(counts(tallies, given.seed, given.first), indent=1) + "\n"
    given.output.with_suffix(".json").write_text(numbers, encoding="utf-8")
    print(text)
    return int(any(t.endings[e] for t in tallies for e in ENDINGS if e not in GOOD))


if __name__ == "__main__":
    sys.exit(main())

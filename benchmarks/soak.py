"""A server under load for minutes: requests a second, how long they take, and whether its memory stays flat.

    python -m benchmarks.soak                 # ten minutes; writes benchmarks/soak.md
    python -m benchmarks.soak --minutes 1     # says what it found, and writes nothing

Four clients, each a process, send one request after the other with a pause of 20 ms: two ask and tell on a campaign of
200 x 200 (chosen without a model), one reads everything there is to read, one corrects a value of a campaign of 12 x 10
and reads what has to be fitted anew. Memory is the resident set of the server, once a second; the first fifth of the
time is for warming up, then the first tenth and the last tenth are compared by their medians.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np
from benchmarks.measures import table
from tests.fuzz import attacks

from maxentry.campaign.campaign import Campaign

HERE = Path(__file__).parent
PAUSE = 0.02  # seconds between the requests of one client
FLAT = 5.0  # per cent
BIG, SMALL = "/campaigns/big", "/campaigns/small"
READS = [
    "/campaigns", BIG, f"{BIG}/measurements?limit=100", f"{BIG}/asked?limit=100", f"{BIG}/history?limit=100",
    f"{BIG}/events?limit=100", f"{BIG}/settings", f"{BIG}/labels", f"{BIG}/reasons", "/jobs", "/health",
]  # fmt: skip
FITS = [f"{SMALL}/{what}wait=60" for what in ("posterior?", "map?", "next?n=2&", "outlook?")]
CURVE, RARELY = f"{SMALL}/curve?wait=60", 20  # which takes several fits


class Said(NamedTuple):
    """One request: its kind, its seconds, and its answer if it was not the one that was to come."""

    kind: str
    seconds: float
    failure: str = ""


Send = Callable[..., httpx.Response]


def write(send: Send) -> Iterator[None]:
    while True:
        entries = send("ask", "POST", f"{BIG}/ask?wait=60", json={"n": 2}, key=True).json()["entries"]
        yield
        lines = [{"id": entry["id"], "value": entry["row"] + entry["col"] / 7} for entry in entries]
        send("tell", "POST", f"{BIG}/tell", json={"lines": lines}, key=True)
        yield


def read(send: Send) -> Iterator[None]:
    for path in itertools.cycle(READS):
        send("read", "GET", path)
        yield


def fit(send: Send) -> Iterator[None]:
    for k in itertools.count():
        send(
            "correct", "POST", f"{SMALL}/correct", json={"number": 1, "value": 1.0 + k % 100 / 1000}, key=True
        )
        yield
        for path in [*FITS, CURVE] if k % RARELY == 0 else FITS:
            send("fit", "GET", path)
            yield


def run_client(work: Callable[[Send], Iterator[None]], url: str, seconds: float) -> list[Said]:
    """Send requests for so many seconds."""
    said: list[Said] = []
    with httpx.Client(base_url=f"{url}/api/v1", timeout=120) as client:

        def send(kind: str, method: str, path: str, key: bool = False, **more: object) -> httpx.Response:
            headers = {"Idempotency-Key": str(uuid.uuid4())} if key else {}
            began = time.perf_counter()
            answer = client.request(method, path, headers=headers, **more)  # type: ignore[arg-type]
            failure = (
                ""
                if answer.status_code in (200, 201)
                else f"{path}: {answer.status_code} {answer.text[:300]}"
            )
            said.append(Said(kind, time.perf_counter() - began, failure))
            return answer

        end, steps = time.monotonic() + seconds, work(send)
        while time.monotonic() < end:
            next(steps)
            time.sleep(PAUSE)
    return said


def resident(process: int) -> float:
    """The resident memory of a process in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(minutes: float, log: Path | None) -> tuple[list[Said], list[float]]:
    """Run server and clients; all requests, and the server's memory once a second."""
    with tempfile.TemporaryDirectory(prefix="maxentry-") as folder:
        os.environ |= {
            "MAXENTRY_CACHE": f"{folder}/cache",
            "MAXENTRY_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        where = f"{folder}/lab.db"
        Campaign.create(where, "big", 200, 200, seed=1, acquisition="uniform").close()
        with Campaign.create(where, "small", 12, 10, seed=1, rank=2) as small:
            rows, cols = np.divmod(np.arange(0, 120, 2), 10)
            small.tell(row=rows.tolist(), col=cols.tolist(), value=(np.sin(rows) * np.cos(cols)).tolist())
        words = [sys.executable, "-m", "maxentry", "serve", "--port", "0", "--rate", "0", "--storage", where]
        with (
            open(log or f"{folder}/log", "w+") as output,
            subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT) as server,
        ):
            try:
                while (said := Path(output.name).read_text()).count("http://") < 1 or not said.endswith("\n"):
                    assert server.poll() is None, said
                    time.sleep(0.1)
                url = "http://" + said.split("http://")[1].split()[0].rstrip("/.,;")
                with ProcessPoolExecutor(4) as pool:
                    clients = [
                        pool.submit(run_client, w, url, 60 * minutes) for w in (write, write, read, fit)
                    ]
                    memory = []
                    while not all(client.done() for client in clients):
                        memory.append(resident(server.pid))
                        time.sleep(1)
                    return [each for client in clients for each in client.result()], memory
            finally:
                server.terminate()


def growth(memory: list[float]) -> tuple[float, float, float]:
    """Memory after warming up and in the end, in MB, and the growth in per cent."""
    n = len(memory)
    first, last = (float(np.median(memory[int(a * n) : int(b * n) + 1])) for a, b in ((0.2, 0.3), (0.9, 1.0)))
    return first, last, 100 * (last / first - 1)


def report(said: list[Said], memory: list[float], minutes: float, load: float) -> str:
    lines = []
    for kind in ("read", "ask", "tell", "correct", "fit", ""):
        mine = [each for each in said if kind in ("", each.kind)]
        ms = 1000 * np.array([each.seconds for each in mine])
        failed = sum(bool(each.failure) for each in mine)
        lines.append([kind or "**all**", str(len(mine)), f"{len(mine) / minutes / 60:.1f}", f"{np.median(ms):.0f}",
                      f"{np.quantile(ms, 0.99):.0f}", f"{ms.max():.0f}", str(failed)])  # fmt: skip
    first, last, per_cent = growth(memory)
    assert __doc__ is not None
    about = "\n".join(__doc__.splitlines()[5:])
    heads = ["requests", "number", "a second", "ms: median", "ms: p99", "ms: longest", "failed"]
    return f"""# {minutes:g} minutes under load

Written by `python -m benchmarks.soak`.
{about}

{table(heads, lines)}
Resident memory of the server: {first:.0f} MB after warming up, {last:.0f} MB in the end, {per_cent:+.1f}% (the most was
{max(memory):.0f} MB). {os.cpu_count()} cores, which clients and server share; the load was {load:.1f} before.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--memory", type=Path, help="write the server's memory, second by second, to this file"
    )
    parser.add_argument("--log", type=Path, help="where what the server logs goes")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    said, memory = soak(given.minutes, given.log)
    text = report(said, memory, given.minutes, load)
    print(text)
    if given.memory:
        given.memory.write_text(json.dumps(memory))
    if given.minutes >= 10:
        (HERE / "soak.md").write_text(text)
    failures = Counter(each.failure for each in said if each.failure)
    print(*(f"{n} x {failure}" for failure, n in failures.most_common(5)), sep="\n")
    first, last, per_cent = growth(memory)
    p99 = 1000 * np.quantile([each.seconds for each in said], 0.99)
    notes = f"{len(said) / given.minutes / 60:.0f} requests a second, p99 {p99:.0f} ms, {first:.0f} to {last:.0f} MB"
    found = {"failed": failures.total(), "memory beyond 5%": int(per_cent > FLAT)}
    attacks.save("soak", f"{given.minutes:g} minutes of requests to a server", len(said), found, notes)
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())

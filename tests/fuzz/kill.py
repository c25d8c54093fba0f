"""Kill whoever writes again and again, and count what was acknowledged and is not there, or is there twice.

    python -m tests.fuzz.kill [--kills 1000] [--only sqlite|postgresql|rest|postmaster] [--seed S]

sqlite, postgresql: several processes ask and tell; each is killed at a random moment.
rest: the server is killed while clients write with idempotency keys, and repeat what was not answered.
postmaster: the same, but PostgreSQL itself is killed, and started again (a fiftieth as often).

All processes are forked from this one, so that a kill takes a fraction of a second. As root it becomes the user nobody
first, and writes to a scratch folder only. `benchmarks/crashes.py` kills less often and compares batches, too.
"""

from __future__ import annotations

import argparse
import gc
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from tests.campaign import postgres_server
from tests.campaign.worker import acknowledge, value_of, work
from tests.campaign.workers import lines
from tests.fuzz import attacks
from tests.fuzz.__main__ import environment, privileges, scratch_folder

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.client.client import HttpSession
from maxentry.errors import StorageError
from maxentry.server.app import Server, create_app, listen
from maxentry.server.options import Options, ServerLimits

# All that the processes need is imported once, here.
LATER = (
    "anyio._backends._asyncio",
    "httpx",
    "maxentry.campaign.policy",
    "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
)
SIDE = 200  # rows and columns of a campaign: room for many entries
AS_NEW = 60  # kills of one campaign, which grows
WRITERS = 4  # at once
SILENCE = 120.0  # seconds without any answer: something hangs
WHAT = {
    "sqlite": "SIGKILL of processes that write to SQLite",
    "postgresql": "SIGKILL of processes that write to PostgreSQL",
    "rest": "SIGKILL of the server while clients write with keys",
    "postmaster": "SIGKILL of PostgreSQL while clients of a server write with keys",
}


@dataclass
class Toll:
    """What was acknowledged, and what is wrong."""

    kind: str
    seed: int = 1
    kills: int = 0
    calls: int = 0
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    asked: dict[int, tuple[int, int]] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)
    unanswered: Counter[str] = field(default_factory=Counter)  # what clients were told, and repeated
    began: float = field(default_factory=time.monotonic)

    def take(self, said: list[dict[str, Any]]) -> None:
        """Remember what was acknowledged; an id that two were given is one twice."""
        for line in said:
            self.calls += "asked" in line or "told" in line
            self.unanswered.update([line["refused"]] if "refused" in line else [])
            for id, row, col in line.get("asked", []):
                self.twice += id in self.asked
                self.asked[id] = (row, col)
            self.told |= dict(line.get("told", []))

    def check(self, where: str, name: str, exact: bool) -> None:
        """Compare a campaign with all that was acknowledged of it; `exact`: nothing else may be there."""
        with Campaign.open(where, name) as campaign:
            state = campaign.state
        kept = {m.id: m.value for m in state.measurements}
        entries = {id: (ask.row, ask.col) for id, ask in state.asked.items()}
        self.lost += sum(entries.get(id) != entry for id, entry in self.asked.items())
        self.lost += sum(kept.get(id) != value for id, value in self.told.items())
        self.twice += sum(n - 1 for n in Counter(m.id for m in state.measurements).values())
        self.twice += sum(n - 1 for n in Counter(entries.values()).values())
        if exact:
            self.twice += len(entries.keys() - self.asked.keys()) + len(kept.keys() - self.told.keys())
        self.wrong += sum(m.value != value_of(m.row, m.col) for m in state.measurements)

    @property
    def seconds(self) -> int:
        """How long it has taken."""
        return round(time.monotonic() - self.began)

    def save(self) -> None:
        """Leave what was found so far."""
        notes = f"{self.calls} acknowledged calls, {self.seconds} s, seed {self.seed}"
        name = f"kill-{self.kind}-{self.seed}"
        attacks.save(name, WHAT[self.kind], self.kills, self.found(), notes, Path("attacks"))

    def found(self) -> dict[str, int]:
        """What must not be."""
        return {"lost": self.lost, "twice": self.twice, "wrong": self.wrong}


# Processes


def fork(run: Callable[[], object], said: int | None = None) -> int:
    """Run a function in a process forked from this one, with its output to a pipe or to nowhere; its id."""
    child = os.fork()
    if child == 0:
        try:
            with (
                open(os.devnull) as nothing,
                open(os.devnull if said is None else said, "w") as out,
                open("errors.txt", "a") as errors,
                redirect_stdout(out),
                redirect_stderr(errors),
            ):
                sys.stdin = nothing
                try:
                    run()
                except BaseException:
                    traceback.print_exc()
        finally:
            os._exit(3)
    return child


def kill(child: int) -> None:
    """Kill a process of ours, which must not have ended by itself."""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"a process ended by itself: {Path('errors.txt').read_text()[-3000:]}")


class Writers:
    """Several processes that write, and the pipe to which each says what was acknowledged."""

    def __init__(self, write: Callable[[], object]) -> None:
        self._reading, writing = os.pipe()  # lines are short, so none is cut by another
        self.ids = [fork(write, writing) for _ in range(WRITERS)]
        os.close(writing)
        self._rest = b""

    def hear(self, n: int | None) -> list[dict[str, Any]]:
        """Wait for at least n more lines; with None, until all have ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._reading, selectors.EVENT_READ)
            while n is None or self._rest.count(b"\n") < n:
                if not selector.select(SILENCE):
                    raise SystemExit(f"nothing was acknowledged for {SILENCE:g} seconds")
                chunk = os.read(self._reading, 1 << 16)
                self._rest += chunk
                if not chunk:
                    break
        whole, _, self._rest = self._rest.rpartition(b"\n")
        return lines(whole + b"\n") if whole else []

    def end(self, stop: Callable[[int], object]) -> list[dict[str, Any]]:
        """End all by `stop`, and return what they still said."""
        for child in self.ids:
            stop(child)
        said = self.hear(None)
        os.close(self._reading)
        return said


def dismiss(child: int) -> None:
    """Let a writer finish what it is at."""
    os.kill(child, signal.SIGTERM)


def prepare_server(where: str, port: int) -> Callable[[], int]:
    """Build the application of `maxentry serve`; return a function that starts it in a process of its own."""
    options = Options(port=port, limits=ServerLimits(rate=0))
    app = create_app(Storage(where, create=True), options)
    app.openapi()  # or every process would build all of its routes

    def run() -> None:
        with listen(options) as listening:
            Server(app, options).run(sockets=[listening])

    return lambda: fork(run)


def write_over_rest(url: str, name: str) -> None:
    """Ask and tell, each with a key, which is repeated until there is an answer; until SIGTERM."""
    session, going, parent = HttpSession(url), [True], os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: going.clear())

    def send(what: str, body: dict[str, Any]) -> dict[str, Any]:
        key = str(uuid.uuid4())
        while os.getppid() == parent:  # or nobody would end this
            try:
                answer = session.send("POST", f"/campaigns/{name}/{what}", body, key=key)
                if what == "tell" or "entries" in answer:
                    return answer
            except StorageError as error:
                acknowledge({"refused": error.message[:200]})
        raise SystemExit

    while going:
        (entry,) = send("ask", {"n": 1})["entries"]
        acknowledge({"asked": [[entry["id"], entry["row"], entry["col"]]]})
        value = value_of(entry["row"], entry["col"])
        send("tell", {"lines": [{"id": entry["id"], "value": value}], "again": True})
        acknowledge({"told": [[entry["id"], value]]})


def free_port() -> int:
    """A port that nobody has; not one that clients are given, who would reach themselves while no server is there."""
    while True:
        port = 20_000 + secrets.randbelow(
            10_000
        )  # whatever the seed: another attack may run at the same time
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)):
                return port


# Attacks


def campaigns(where: str, toll: Toll, kills: int) -> Iterator[tuple[str, range]]:
    """The names of new campaigns, and the kills of each."""
    for first in range(0, kills, AS_NEW):
        name = f"campaign-{first}"
        Campaign.create(where, name, SIDE, SIDE, seed=1, acquisition="uniform").close()
        toll.asked, toll.told = {}, {}
        yield name, range(first, min(first + AS_NEW, kills))
        toll.save()


def kill_writers(where: str, kills: int, rng: Random, toll: Toll) -> None:
    """Let several write at once, kill each at a random moment, and check."""
    for name, numbers in campaigns(where, toll, kills):
        while toll.kills < numbers.stop:
            writers = Writers(lambda name=name: work(where, name, "own", 1, 10**9))  # type: ignore[misc]
            rng.shuffle(writers.ids)
            for child in writers.ids:
                toll.take(writers.hear(rng.randint(0, 12)))
                time.sleep(rng.uniform(0.0, 0.02))
                kill(child)
                toll.kills += 1
            toll.take(writers.end(lambda _: None))
            toll.check(where, name, exact=False)


def kill_server(where: str, kills: int, rng: Random, toll: Toll) -> None:
    """Kill the server while clients write over REST; afterwards all that is there must have been acknowledged once."""
    port = free_port()
    start_server = prepare_server(where, port)
    for name, numbers in campaigns(where, toll, kills):
        writers = Writers(lambda name=name: write_over_rest(f"http://127.0.0.1:{port}", name))  # type: ignore[misc]
        for _ in numbers:
            server = start_server()
            toll.take(writers.hear(rng.randint(0, 8)))
            time.sleep(rng.uniform(0.0, 0.02))
            kill(server)
            toll.kills += 1
        server = start_server()
        toll.take(writers.end(dismiss))
        kill(server)
        toll.check(where, name, exact=True)


def kill_postmaster(where: str, kills: int, rng: Random, toll: Toll) -> None:
    """Kill PostgreSQL while clients write over REST."""
    port = free_port()
    server = prepare_server(where, port)()
    for name, numbers in campaigns(where, toll, kills):
        writers = Writers(lambda name=name: write_over_rest(f"http://127.0.0.1:{port}", name))  # type: ignore[misc]
        for _ in numbers:
            toll.take(writers.hear(rng.randint(1, 60)))
            time.sleep(rng.uniform(0.0, 0.02))
            postgres_server.crash(where)
            toll.kills += 1
        toll.take(writers.end(dismiss))
        toll.check(where, name, exact=True)
    kill(server)


@contextmanager
def storage(kind: str) -> Iterator[str | None]:
    """Where the campaigns of an attack are; None where there is no PostgreSQL."""
    with ExitStack() as stack:
        where: str | None = str(Path(f"{kind}.db").resolve())
        if kind in ("postgresql", "postmaster") and (where := stack.enter_context(postgres_server.server())):
            where = stack.enter_context(postgres_server.database(where))
        yield where


ATTACKS = {
    "sqlite": kill_writers,
    "postgresql": kill_writers,
    "rest": kill_server,
    "postmaster": kill_postmaster,
}


def attack(kinds: list[str], kills: int, seed: int) -> int:
    """Run the attacks in this folder, as who this is."""
    bad = False
    for name in LATER:
        import_module(name)
    gc.freeze()  # so that the processes share its memory
    print(
        "| attack | kills | acknowledged calls | lost | twice | wrong | seconds |\n|---|---|---|---|---|---|---|"
    )
    for kind in kinds:
        toll = Toll(kind, seed)
        with storage(kind) as where:
            if where is None:
                print(f"| {kind} | no PostgreSQL here | | | | | |", flush=True)
                continue
            n = max(1, kills // 50) if kind == "postmaster" else kills
            ATTACKS[kind](where, n, Random(seed), toll)
        cells = kind, toll.kills, toll.calls, *toll.found().values(), toll.seconds
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for words, times in toll.unanswered.most_common(8):
            print(f"    {times} x {words}")
        bad |= any(toll.found().values())
    return int(bad)


def main() -> int:
    """Run the command again in a scratch folder, without privileges, and keep its results."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kill", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--only", choices=tuple(ATTACKS), action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this folder, as this user")
    parser.add_argument("-o", "--output", type=Path, default=attacks.FOLDER)
    given = parser.parse_args()
    if given.here:
        return attack(given.only or list(ATTACKS), given.kills, given.seed)
    folder = scratch_folder()
    words = [*privileges(), sys.executable, "-m", "tests.fuzz.kill", "--here", *sys.argv[1:]]
    try:
        code = subprocess.run(words, cwd=folder, env=environment(folder), check=False).returncode
        shutil.copytree(folder / "attacks", given.output, dirs_exist_ok=True)
        return code
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

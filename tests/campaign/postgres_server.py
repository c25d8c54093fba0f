"""A PostgreSQL server for tests and benchmarks: throw-away, in a folder of its own, reached by a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "MAXENTRY_TEST_POSTGRES"  # names a server to use instead: postgresql://user@host/database


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, the newest there is."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def server() -> Iterator[str | None]:
    """The URL of a server that runs while the context does; None where there is none to be had."""
    named, bin = os.environ.get(VARIABLE), binaries()
    if named or bin is None:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="maxentry-pg-", ignore_cleanup_errors=True) as folder:
        # The server refuses to run as root; its folder must then belong to who it runs as.
        user = "postgres" if os.geteuid() == 0 else None
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data = f"{folder}/data"
        _run([bin / "initdb", "-D", data, "-U", "maxentry", "-A", "trust", "-E", "UTF8", "--no-sync"], user)
        _start(bin, folder, user)
        _stop_when_orphaned(bin, data, user)
        try:
            yield f"postgresql://maxentry@/postgres?host={folder}"
        finally:
            _run([bin / "pg_ctl", "-D", data, "-w", "-t", "240", "-m", "immediate", "stop"], user)


def _start(bin: Path, folder: str, user: str | None) -> None:
    options, data = f"-k {folder} -c listen_addresses='' -c max_connections=100", f"{folder}/data"
    _run([bin / "pg_ctl", "-D", data, "-w", "-t", "240", "-l", f"{data}/log", "-o", options, "start"], user)


def crash(url: str) -> None:
    """Kill the server that `server` started, by SIGKILL, and start it again once all of its processes are gone."""
    from sqlalchemy import make_url

    folder, bin = str(make_url(url).query["host"]), binaries()
    assert bin is not None
    file = Path(folder, "data", "postmaster.pid")
    postmaster, user = int(file.read_text().split()[0]), file.owner() if os.geteuid() == 0 else None
    os.kill(postmaster, signal.SIGKILL)
    for _ in range(600):
        try:
            _start(bin, folder, user)
            return
        except subprocess.CalledProcessError:  # a process of the old one still has its shared memory
            time.sleep(0.1)
    raise RuntimeError(Path(folder, "data", "log").read_text()[-2000:])


def _run(command: list[str | Path], user: str | None) -> None:
    subprocess.run(
        [str(part) for part in command],
        check=True,
        user=user,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=250,
    )


def _stop_when_orphaned(bin: Path, data: str, user: str | None) -> None:
    """A test that is killed cannot stop its server; let somebody else look after that."""
    here = f"{{ [ -d /proc/{os.getpid()} ] || ps -p {os.getpid()}; }}"  # a bare machine may have no ps
    script = f"while {here} && [ -d {data} ]; do sleep 2; done; {bin}/pg_ctl -D {data} -m immediate stop"
    nowhere = subprocess.DEVNULL
    subprocess.Popen(
        ["sh", "-c", script],
        user=user,
        cwd="/",
        start_new_session=True,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
    )


@contextmanager
def database(url: str) -> Iterator[str]:
    """A new database in the server, dropped in the end."""
    import uuid

    from sqlalchemy import create_engine, make_url, text
    from sqlalchemy.exc import OperationalError

    name = f"maxentry_{uuid.uuid4().hex}"
    base = make_url(url).set(drivername="postgresql+psycopg")
    engine = create_engine(base, isolation_level="AUTOCOMMIT", pool_pre_ping=True)

    def insist(statement: str) -> None:
        for attempt in range(1, 21):
            try:
                with engine.connect() as connection:
                    connection.execute(text(statement))
                return
            except OperationalError:
                if attempt == 20:  # it waits for those it has ended, but only for five seconds
                    raise

    insist(f"CREATE DATABASE {name}")
    try:
        made = base.set(drivername="postgresql", database=name)
        yield made.render_as_string(hide_password=False)
    finally:
        insist(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()

"""Workers as processes: started, listened to, killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def start(
    where: str, policy: str, batch: int, total: int = 10**9, name: str = "kinase"
) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.campaign.worker", where, name, policy, str(batch), str(total)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,  # so that nothing read ahead is lost between `killed_after` and the end
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )


def ready(process: subprocess.Popen[bytes]) -> None:
    """Wait until a worker has opened the campaign."""
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"ready": True}


def go(process: subprocess.Popen[bytes]) -> None:
    """Let a worker begin."""
    assert process.stdin is not None
    process.stdin.write(b"\n")


def killed_after(process: subprocess.Popen[bytes], n: int, seconds: float) -> list[dict[str, Any]]:
    """Kill a worker some time after its n-th line; all that it acknowledged before it was gone."""
    assert process.stdout is not None
    first = b"".join(process.stdout.readline() for _ in range(n))
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate(timeout=250)
    assert process.returncode == -signal.SIGKILL
    return lines(first + rest)


def lines(output: bytes) -> list[dict[str, Any]]:
    """What was acknowledged; a last line that was cut off was not."""
    return [json.loads(line) for line in output.decode().split("\n")[:-1]]


def asked(acknowledged: list[dict[str, Any]]) -> dict[int, tuple[int, int]]:
    return {id: (row, col) for line in acknowledged for id, row, col in line.get("asked", [])}


def told(acknowledged: list[dict[str, Any]]) -> dict[int, float]:
    return {id: value for line in acknowledged for id, value in line.get("told", [])}

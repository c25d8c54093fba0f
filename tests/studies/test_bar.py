"""The one bar of a study, where there is a terminal to see it."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.studies.test_interrupts import SCRIPT


@pytest.mark.process
def test_on_a_terminal_one_bar_says_how_far_it_is_and_what_is_left(tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, str(SCRIPT), str(tmp_path / "study"), str(tmp_path / "log"), "0.5"]
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    study = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=inner, env=env)
    os.close(inner)
    shown = b""
    try:
        while chunk := os.read(outer, 65536):
            shown += chunk
    except OSError:  # Linux's way to tell the end of a pseudo-terminal
        pass
    os.close(outer)
    assert study.wait(60) == 0
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()))
    bars = [line for line in lines if "/5 runs" in line]
    assert bars[0].split()[-2:] == ["0/5", "runs"]  # nobody knows yet
    assert bars[-1].split()[1:3] == ["5/5", "runs"]
    counts = [int(found[1]) for line in bars if (found := re.search(r"(\d)/5 runs", line))]
    assert counts == sorted(counts)
    assert any(re.search(r"[1-4]/5 runs about \d+ s left", line) for line in bars)
    rest = [line for line in lines if line.strip() and line not in bars]
    assert len(rest) == 1  # and when it is done, one sentence
    assert rest[0].startswith("5 runs, ")

"""Fresh virtual environments below build/release, and the wheel and sdist that are installed there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from release.requirements import ROOT

BUILD = ROOT / "build" / "release"
LIMIT = 2400  # seconds of one step, on a busy machine


class StepError(RuntimeError):
    """A step of a job failed; the message has the command and the end of its output."""


def run(words: Sequence[str | Path], *, cwd: Path = ROOT, cache: Path | None = None) -> str:
    """Run a command without the caller's PYTHONPATH; return what it printed, raise StepError if it fails."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")
    }
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
    command = [str(word) for word in words]
    done = subprocess.run(
        command, cwd=cwd, env=environment, text=True, timeout=LIMIT, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise StepError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def find_python(version: str) -> Path | None:
    """Return an interpreter of this version (like 3.13) on the PATH or of pyenv, or None."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = shutil.which(f"python{version}")
    places = [Path(found)] if found else []
    places += sorted(pyenv.glob(f"{version}.*/bin/python"))
    for place in places:  # a shim of pyenv may be there without an interpreter behind it
        code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return place
    return None


def make_environment(name: str, python: Path) -> Path:
    """Make a fresh virtual environment; return its interpreter."""
    folder = BUILD / name
    run([python, "-m", "venv", "--clear", folder])
    return folder / "bin" / "python"


def install(python: Path, *words: str | Path) -> None:
    """Install into an environment; bytecode is compiled when it is used."""
    run([python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *words])


def build_distributions() -> tuple[Path, Path]:
    """Build the sdist, and the wheel from that sdist; return the paths of wheel and sdist."""
    folder = BUILD / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    python = make_environment("builder", Path(sys.executable))
    install(python, "build")
    run([python, "-m", "build", "--outdir", folder, ROOT])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist

"""A virtual environment of its own for each peer, so that nothing of them is a dependency of ours.

    python benchmarks/peers/environments.py                  # make all that are missing
    python benchmarks/peers/environments.py smurff cmfrec    # only these

They lie beside the repository's own as `.venv-<peer>`. What cannot be installed is said, and the comparisons go on
without it.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class PeerNotInstalledError(RuntimeError):
    """A peer's environment could not be made; the message is pip's."""


class Peer(NamedTuple):
    """What pip is asked for, in order, and what must then import."""

    module: str
    installs: tuple[tuple[str, ...], ...]
    distribution: str  # whose version counts


PEERS = {
    "smurff": Peer("smurff", (("smurff==1.1",),), "smurff"),
    # It imports pkg_resources, which setuptools 80 and later no longer carry without complaint.
    "myfm": Peer("myfm", (("setuptools<80",), ("myfm==0.4.0",)), "myfm"),
    "baybe": Peer("baybe", (("baybe==0.15.0",),), "baybe"),
    "numpyro": Peer("numpyro", (("numpyro==0.22.0",),), "numpyro"),
    # No wheel: it is compiled here, for this processor. It imports threadpoolctl without declaring it.
    "cmfrec": Peer("cmfrec", (("threadpoolctl", "cmfrec==3.5.1.post14"),), "cmfrec"),
    # Without what it declares: its nose and pytest are not needed. scikit-learn 1.6 dropped an argument that it uses.
    "fancyimpute": Peer(
        "fancyimpute",
        (("scikit-learn<1.6", "knnimpute", "cvxpy"), ("--no-deps", "fancyimpute==0.7.0")),
        "fancyimpute",
    ),
}


def python_of(peer: str) -> Path:
    """The peer's interpreter, whether or not it is there."""
    return ROOT / f".venv-{peer}" / "bin" / "python"


def imports(peer: str) -> bool:
    """Whether the peer can be used."""
    python = python_of(peer)
    command = [python, "-c", f"import {PEERS[peer].module}"]
    return python.exists() and subprocess.run(command, capture_output=True).returncode == 0


def ensure(peer: str) -> Path:
    """The peer's interpreter; the environment is made on first use."""
    python = python_of(peer)
    if imports(peer):
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", python.parent.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for wanted in PEERS[peer].installs:
        done = subprocess.run([*pip, *wanted], capture_output=True, text=True, env=outside)
        if done.returncode:
            raise PeerNotInstalledError(
                f"{peer}: `pip install {' '.join(wanted)}` failed: {_last_error(done.stderr)}"
            )
    if not imports(peer):
        raise PeerNotInstalledError(f"{peer}: installed, but `import {PEERS[peer].module}` fails")
    return python


def _last_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "error" in line.lower()]
    return lines[-1] if lines else text.strip()[-300:]


def versions(peer: str) -> dict[str, str]:
    """Of the peer and of what computes for it."""
    names = [PEERS[peer].distribution, "numpy", "scipy", "jax", "scikit-learn"]
    code = (
        "import importlib.metadata as m, json, sys\n"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        "print(json.dumps({n: have[n] for n in sys.argv[1:] if n in have}))"
    )
    done = subprocess.run([python_of(peer), "-c", code, *names], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("peer", nargs="*", choices=[*PEERS, []], help="by default all")
    failed = 0
    for peer in options.parse_args().peer or PEERS:
        try:
            print(f"{peer}: {ensure(peer)}", flush=True)
        except PeerNotInstalledError as error:
            print(error, flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

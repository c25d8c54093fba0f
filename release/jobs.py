"""The jobs: the wheel without extras, the oldest versions that are allowed, the newest, and the lock file."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from release.commands import check_commands
from release.environments import (
    BUILD,
    StepError,
    build_distributions,
    find_python,
    install,
    make_environment,
    run,
)
from release.requirements import (
    EXTRAS,
    FRAMES,
    LOCK,
    ROOT,
    TOOLS,
    lower_bounds,
    python_versions,
    read_project,
    write_pins,
)

# What is run with the oldest and the newest versions: every input, storage, criterion and door, in about a minute.
SMOKE = (
    "tests/contracts", "tests/test_observations.py", "tests/campaign/test_campaign.py", "tests/cli/test_campaigns.py",
    "tests/client", "tests/test_estimators.py", "tests/frozen/test_files.py",
)  # fmt: skip
MARKS = "not (slow or process or browser or postgres or pages)"
LEFT_OUT = (
    "not scikit_learn_checks"  # a hundred checks of scikit-learn's own, long for what they say of versions
)
LOCK_HEAD = """\
# Versions of all that development needs, made by `make lock` with Python {version}; `make setup` installs them.
# The package itself only has lower bounds (pyproject.toml). `make bounds` tests the oldest and the newest.
"""


@contextmanager
def timed(job: str) -> Iterator[None]:
    """Print how long a job took, and the processor time of what it ran."""
    begin = time.monotonic()
    print(f"== {job}", flush=True)
    yield
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"== {job}: {time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors",
        flush=True,
    )


def check_wheel() -> None:
    """Build both, install the wheel without extras, run every command; the sdist installs the same files."""
    with timed("wheel and sdist without extras"), tempfile.TemporaryDirectory() as scratch:
        wheel, sdist = build_distributions()
        python = make_environment("wheel", Path(sys.executable))
        install(python, wheel)
        for line in check_commands(python, Path(scratch)):
            print(f"  {line}", flush=True)
        install(python, "--force-reinstall", "--no-deps", sdist)
        installed = set(run([python, "-m", "pip", "show", "-f", "maxentry"]).split())
        missing = sorted(set(package_files(wheel)) - installed)
        if missing:
            raise StepError(
                f"expected the files of the wheel from the sdist, got none of {', '.join(missing[:5])}"
            )
        run([python.with_name("maxentry"), "version"], cwd=Path(scratch))


def package_files(wheel: Path) -> list[str]:
    """Return the files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as file:
        return sorted(name for name in file.namelist() if name.startswith("maxentry/"))


def check_lowest() -> None:
    """Install the lower bound of every dependency on the oldest Python, and run the smoke tests."""
    project = read_project()
    bounds = lower_bounds(project)
    with timed("lowest versions"):
        python = make_environment("lowest", _choose_python(python_versions(project)[:1]))
        pins = BUILD / "lowest.txt"
        pins.write_text(write_pins(bounds), encoding="utf-8")
        install(python, "-c", pins, f"{ROOT}[{','.join(EXTRAS)}]", *FRAMES, *TOOLS)
        versions = installed_versions(python)
        other = {
            name: version for name, version in versions.items() if not is_bound(version, bounds.get(name))
        }
        if other:
            raise StepError(f"expected the lower bounds, got {write_pins(other)}")
        run_smoke(python)


def is_bound(version: str, bound: str | None) -> bool:
    """Whether a version is the lower bound, like 2.0.0 and 2.0; packages that are not ours to bound have none."""
    return bound is None or Version(version) == Version(bound)


def check_newest(version: str | None = None) -> None:
    """Install the newest versions on the newest Python that is here (or this one), and run the smoke tests."""
    python = find_python(version) if version else _choose_python(python_versions(read_project())[::-1])
    if python is None:
        raise StepError(f"expected Python {version} on this machine, got none")
    with timed(f"newest versions, Python {version or _version_of(python)}"):
        python = make_environment("newest", python)
        install(python, "--upgrade", f"{ROOT}[{','.join(EXTRAS)}]", *FRAMES, *TOOLS)
        run_smoke(python)


def check_pythons() -> None:
    """Check the newest versions on every Python that the classifiers name."""
    for version in python_versions(read_project()):
        check_newest(version)


def run_smoke(python: Path) -> None:
    """Run the smoke tests on the package that is installed; kernels have a cache of their own."""
    versions = installed_versions(python)
    shown = ("numpy", "scipy", "numba", "llvmlite", "sqlalchemy", "pandas", "polars", "fastapi", "starlette")
    print(
        f"  Python {_version_of(python)}, " + ", ".join(f"{name} {versions[name]}" for name in shown),
        flush=True,
    )
    options = [
        "-p",
        "no:cacheprovider",
        "-o",
        "faulthandler_timeout=0",
        "-W",
        "ignore::DeprecationWarning",
    ]
    words = ["-m", "pytest", *options, "-m", MARKS, "-k", LEFT_OUT, *SMOKE]
    print("  " + run([python, *words], cache=BUILD / "cache").strip().splitlines()[-1], flush=True)


def write_lock() -> None:
    """Resolve the extra `dev` as in an empty environment, and write the versions to the lock file."""
    with tempfile.TemporaryDirectory() as scratch, timed("lock"):
        report = Path(scratch) / "report.json"
        python = make_environment("lock", Path(sys.executable))
        install(python, "--upgrade", "pip")
        install(python, "--dry-run", "--ignore-installed", "--report", report, f"{ROOT}[dev]")
        entries = [entry["metadata"] for entry in json.loads(report.read_text(encoding="utf-8"))["install"]]
        pins = {str(canonicalize_name(entry["name"])): str(entry["version"]) for entry in entries}
        del pins["maxentry"]
        head = LOCK_HEAD.format(version=_version_of(python))
        LOCK.write_text(head + write_pins(pins), encoding="utf-8")


def installed_versions(python: Path) -> dict[str, str]:
    """Return name and version of what is installed in an environment."""
    code = "import json, importlib.metadata as m; print(json.dumps([[d.name, d.version] for d in m.distributions()]))"
    return {canonicalize_name(name): version for name, version in json.loads(run([python, "-c", code]))}


def _choose_python(versions: list[str]) -> Path:
    """Return the first of these versions that is on this machine, or the interpreter that runs this."""
    return next(filter(None, map(find_python, versions)), Path(sys.executable))


def _version_of(python: Path) -> str:
    return run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()

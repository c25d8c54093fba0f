"""Kernels are compiled once for all virtual environments of a user, and again when any kernel has changed."""

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

import maxentry
from maxentry._types import Array
from maxentry.kernels import jit_cache

ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
PACKAGE = Path(maxentry.__file__).parent
CODE = """
import json
import numpy as np
import maxentry
from maxentry.kernels.rng import fill_normal
fill_normal(np.empty(2), np.random.default_rng(0))
found = fill_normal.stats
print(json.dumps([maxentry.__file__, fill_normal._cache.cache_path, sum(found.cache_hits.values())]))
"""


@pytest.fixture
def environments(tmp_path: Path) -> tuple[Path, Path]:
    """The package installed twice, at different places."""
    places = tmp_path / "one", tmp_path / "two"
    for place in places:
        shutil.copytree(PACKAGE, place / "maxentry", ignore=shutil.ignore_patterns("__pycache__"))
    return places


def run(place: Path, **settings: str) -> tuple[Path, int]:
    """Call one kernel with the package at this place: the folder it is kept in, and how many came from there."""
    around = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={**around, "PYTHONPATH": str(place), **settings},
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    package, folder, hits = json.loads(done.stdout)
    assert Path(package).parent == place / "maxentry"
    return Path(folder), hits


@pytest.mark.process
def test_another_environment_finds_what_the_first_has_compiled(environments, tmp_path: Path) -> None:
    one, two = environments
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "LOCALAPPDATA": str(tmp_path / "cache")}
    folder, hits = run(one, **home)
    assert hits == 0
    assert folder.is_relative_to(tmp_path / "cache")
    assert run(two, **home) == (folder, 1)
    # The control: a kernel has changed, though not the one called.
    with (two / "maxentry" / "kernels" / "ridge.py").open("a") as file:
        file.write("# changed\n")
    other, hits = run(two, **home)
    assert hits == 0
    assert other != folder


@pytest.mark.process
def test_a_folder_given_to_numba_goes_before(environments, tmp_path: Path) -> None:
    folder, _ = run(environments[0], NUMBA_CACHE_DIR=str(tmp_path / "mine"), XDG_CACHE_HOME=str(tmp_path))
    assert folder.is_relative_to(tmp_path / "mine")


@pytest.mark.process
def test_where_the_users_cache_cannot_be_written_numbas_own_place_serves(
    environments, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    folder, _ = run(environments[0], XDG_CACHE_HOME=str(tmp_path / "file"))
    assert folder == environments[0] / "maxentry" / "kernels" / "__pycache__"


def test_few_folders_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from maxentry.kernels import jit_cache

    monkeypatch.setattr(jit_cache, "user_cache", lambda: tmp_path)
    (tmp_path / "kernels").mkdir(mode=0o700)
    for k in range(9):
        old = tmp_path / "kernels" / f"old{k}"
        old.mkdir()
        os.utime(old, (k, k))
    made = jit_cache.shared_folder.__wrapped__()
    left = {folder.name for folder in (tmp_path / "kernels").iterdir()}
    assert left == {made.name, "old4", "old5", "old6", "old7", "old8"}


def test_folders_used_lately_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from maxentry.kernels import jit_cache

    monkeypatch.setattr(jit_cache, "user_cache", lambda: tmp_path)
    now, day = time.time(), 24 * 3600
    (tmp_path / "kernels").mkdir(mode=0o700)
    for k in range(12):
        used = tmp_path / "kernels" / f"used{k}"
        used.mkdir()
        os.utime(used, (now - k * day, now - k * day))
    made = jit_cache.shared_folder.__wrapped__()
    left = {folder.name for folder in (tmp_path / "kernels").iterdir()}
    assert left == {made.name} | {f"used{k}" for k in range(7)}


@ON_POSIX
def test_folders_are_for_the_user_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from maxentry.kernels import jit_cache

    monkeypatch.setattr(jit_cache, "user_cache", lambda: tmp_path / "cache" / "maxentry")
    made = jit_cache.shared_folder.__wrapped__()
    for folder in (made, *list(made.parents)[:3]):
        assert folder.stat().st_mode & 0o777 == 0o700


@ON_POSIX
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("which", ["kernels", "version"])
def test_a_folder_that_others_can_write_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int, which: str
) -> None:
    from maxentry.kernels import jit_cache

    monkeypatch.setattr(jit_cache, "user_cache", lambda: tmp_path)
    made = jit_cache.shared_folder.__wrapped__()
    folder = made if which == "version" else made.parent
    folder.chmod(mode)
    assert jit_cache.shared_folder.__wrapped__() is None
    folder.chmod(0o755)
    assert jit_cache.shared_folder.__wrapped__() == made


@ON_POSIX
def test_a_folder_of_another_user_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from maxentry.kernels import jit_cache

    monkeypatch.setattr(jit_cache, "user_cache", lambda: tmp_path)
    assert jit_cache.shared_folder.__wrapped__() is not None
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert jit_cache.shared_folder.__wrapped__() is None


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is no XDG_CACHE_HOME")
def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from maxentry._io import user_cache

    monkeypatch.setenv("HOME", str(tmp_path))
    for wish in ("", "here", "./here"):
        monkeypatch.setenv("XDG_CACHE_HOME", wish)
        assert user_cache() == tmp_path / ".cache" / "maxentry"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    assert user_cache() == tmp_path / "there" / "maxentry"


def test_what_is_compiled_of_another_text_lies_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from maxentry.kernels import jit_cache

    monkeypatch.setattr(jit_cache, "HERE", tmp_path)
    versions = []
    for text, name in (("x = 1\n", "a.py"), ("x = 2\n", "a.py"), ("x = 2\n", "b.py")):
        (tmp_path / name).write_text(text)
        versions.append(jit_cache.cache_version())
    assert len(set(versions)) == 3
    assert jit_cache.cache_version() == versions[-1]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("llvm.get_host_cpu_name", lambda: "another"),
        ("llvm.get_host_cpu_features", lambda: SimpleNamespace(flatten=lambda: "+another")),
        ("config.CPU_NAME", "another"),
        ("config.CPU_FEATURES", "+another"),
        ("llvmlite.__version__", "another"),
    ],
)
def test_what_is_compiled_for_another_processor_lies_elsewhere(
    monkeypatch: pytest.MonkeyPatch, where: str, value: object
) -> None:
    from maxentry.kernels import jit_cache

    before = jit_cache.cache_version()
    assert jit_cache.cache_version() == before
    monkeypatch.setattr(f"maxentry.kernels.jit_cache.{where}", value)
    assert jit_cache.cache_version() != before


@pytest.mark.process
def test_without_any_place_to_write_a_folder_of_the_process_serves(environments, tmp_path: Path) -> None:
    place = environments[0]
    (tmp_path / "file").write_text("in the way")
    (place / "maxentry" / "kernels" / "__pycache__").write_text("in the way")
    (tmp_path / "temporary").mkdir()
    homes = dict.fromkeys(("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"), str(tmp_path / "file"))
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path / "temporary"))
    folder, hits = run(place, **homes, **temporary)
    assert hits == 0
    assert folder.parent == tmp_path / "temporary"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_numba_can_warn_of_what_it_cannot_keep(tmp_path: Path) -> None:
    from numba.core.caching import CompileResultCacheImpl
    from numba.core.errors import NumbaWarning

    from maxentry.kernels import jit_cache
    from maxentry.kernels.gauge import cholesky

    kept = CompileResultCacheImpl(cholesky.py_func)
    kept._locator = jit_cache.SharedLocator(cholesky.py_func, "small_linalg.py", tmp_path)
    lifted = SimpleNamespace(
        lifted=[SimpleNamespace(can_cache=False)], fndesc=SimpleNamespace(qualname="small_linalg.cholesky")
    )
    with pytest.warns(NumbaWarning, match="uses lifted code") as warned:
        assert not kept.check_cachable(lifted)
    assert warned[0].filename == "small_linalg.py"


def test_an_inner_function_gives_the_same_from_python_and_from_a_kernel() -> None:
    """Without its wrappers a call from Python would end the process; tests call many of them."""
    from maxentry.kernels.gauge import cholesky

    @njit
    def factorise(P: Array) -> bool:
        return cholesky(P, 2)

    for P, is_positive in (([[4.0, 2.0], [2.0, 5.0]], True), ([[1.0, 2.0], [2.0, 1.0]], False)):
        once, again = np.array(P), np.array(P)
        assert cholesky(once, 2) == factorise(again) == cholesky(np.array(P), 2) == is_positive
        np.testing.assert_array_equal(once, again)


def inner_names(source: str) -> list[str]:
    """Functions made for kernels alone that a module names, by import or as an attribute of a kernels' module."""
    tree = ast.parse(source)
    modules, found = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "maxentry.kernels":
            modules |= {name.asname or name.name: f"maxentry.kernels.{name.name}" for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("maxentry.kernels."):
            found += [(node.module, name.name) for name in node.names]
    named = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
    found += [(modules[node.value.id], node.attr) for node in named if node.value.id in modules]
    kinds = {name: getattr(importlib.import_module(module), name, None) for module, name in found}
    return [name for name, kind in kinds.items() if isinstance(kind, jit_cache.Inner)]


def test_only_kernels_call_inner_functions() -> None:
    """From Python each process would compile them anew."""
    files = [file for file in PACKAGE.rglob("*.py") if file.parent.name != "kernels"]
    assert {str(file): names for file in files if (names := inner_names(file.read_text("utf-8")))} == {}
    assert inner_names("from maxentry.kernels.gauge import cholesky") == ["cholesky"]  # the check can fail
    assert inner_names("from maxentry.kernels import rows as r\nr.draw_rows()") == ["draw_rows"]

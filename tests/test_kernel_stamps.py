"""Kernels that call kernels of other files name them by a digest.

Numba finds what it compiled before by the text of a function's own file. Where only a file that is called has changed,
in the repository or by an upgrade, the old code would be run. So each file holds a digest of those it imports.
"""

import hashlib
import re
from pathlib import Path

import pytest

import maxentry.kernels

FOLDER = Path(maxentry.kernels.__file__).parent
IMPORTED = re.compile(r"^from maxentry\.kernels\.(\w+) import", re.MULTILINE)
STAMP = re.compile(r'^CALLED = "(\w*)"', re.MULTILINE)


def digest(folder: Path, text: str) -> str:
    called = sorted(set(IMPORTED.findall(text)))
    texts = "".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in called)
    return hashlib.sha256(texts.encode()).hexdigest()[:12]


FILES = [path for path in sorted(FOLDER.glob("*.py")) if path.stem != "__init__"]  # which has no kernels
CALLING = [path for path in FILES if IMPORTED.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", CALLING, ids=lambda path: path.stem)
def test_the_digest_is_that_of_the_kernels_called(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert STAMP.findall(text) == [digest(FOLDER, text)], f"put the digest on the right into {path.name}"


def test_the_digest_changes_with_the_kernels_called(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    text = "from maxentry.kernels.one import x\n"
    before = digest(tmp_path, text)
    (tmp_path / "one.py").write_text("x = 2\n")
    assert digest(tmp_path, text) != before


def test_kernels_that_call_others_are_found() -> None:
    assert {"conjugate", "effects", "fold_in", "half_sweep", "row_sums", "tiles"} <= {
        path.stem for path in CALLING
    }

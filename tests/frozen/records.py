"""Records in `data/`: what is kept of numbers, and how they are compared with what the code makes now.

Of arrays a record has the shape, a few numbers with 12 digits and a digest of all their bytes. Numbers must agree to
a relative 1e-6 everywhere. Digests must agree, too: the same seed gives the same bits on any x86-64 processor with the
same versions of NumPy, SciPy and Numba. What comes out of BLAS and LAPACK ("blas" in a record) has the same bits only
on processors for which these use the same routines, so elsewhere its numbers alone are compared, with a warning. Where
these are sums in single precision ("single" in a record), they must agree to a millionth of the largest.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import platform
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
AGAIN = (
    "If this change is wanted, record it with `python -m tests.frozen.record` and say it in CHANGELOG.md; "
    "if not, the code has lost something that users have."
)
RTOL = 1e-6
SINGLE = 1e-6  # of the largest number: eight units in the last place of single precision, which BLAS sums in its order
SHOWN = 8  # numbers of an array that a record shows


def read(name: str) -> Any:
    """The record of this name."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, record: Any) -> None:
    """Keep a record, one line for each small thing, so that differences can be read."""
    (DATA / f"{name}.json").write_text(_layout(record) + "\n", encoding="utf-8")


def _layout(x: Any, indent: int = 0) -> str:
    flat = json.dumps(x, ensure_ascii=False)
    if len(flat) + indent <= 110 or not isinstance(x, dict | list) or not x:
        return flat
    pad, end = " " * (indent + 1), " " * indent
    if isinstance(x, list):
        return "[\n" + ",\n".join(pad + _layout(item, indent + 1) for item in x) + f"\n{end}]"
    lines = (f"{pad}{json.dumps(k, ensure_ascii=False)}: {_layout(v, indent + 1)}" for k, v in x.items())
    return "{\n" + ",\n".join(lines) + f"\n{end}}}"


# Numbers


def summary(arrays: dict[str, Any], *, blas: bool = False) -> dict[str, Any]:
    """What is kept of named arrays; `blas` where their last bits depend on the processor."""
    kept = {name: _array(value) for name, value in arrays.items() if value is not None}
    return {"blas": True} | kept if blas else kept


def _array(value: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(value)
    whole = array.dtype.kind in "biu"
    array = array.astype("<i8" if whole else "<f8")
    flat = array.ravel()
    places = np.unique(np.linspace(0, max(flat.size - 1, 0), SHOWN).astype(int)) if flat.size else []
    numbers = [int(flat[k]) if whole else rounded(float(flat[k])) for k in places]
    return {
        "shape": list(array.shape),
        "numbers": numbers,
        "mean": rounded(float(flat.mean())) if flat.size else None,
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
    }


def rounded(x: Any) -> Any:
    """Plain data with numbers of 12 digits; NaN and infinities as text, times as ISO text."""
    if isinstance(x, dict):
        return {str(key): rounded(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [rounded(item) for item in x]
    if isinstance(x, np.ndarray | np.generic):
        return rounded(x.tolist())
    if isinstance(x, float):
        return float(f"{x:.12g}") if math.isfinite(x) else str(x)
    return x.isoformat() if hasattr(x, "isoformat") else x


def machine() -> dict[str, str]:
    """What bits depend on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"processor": _processor(), "blas": _blas(), **packages}


def _processor() -> str:
    """Its kind, maker and model: BLAS cuts matrices to the caches, so two that share its routines may round apart."""
    kind, cpu = platform.machine(), Path("/proc/cpuinfo")
    lines = cpu.read_text(encoding="utf-8").splitlines() if cpu.exists() else []
    facts = dict(part.split(":", 1) for part in lines[:20] if ":" in part)
    known = {name.strip(): value.strip() for name, value in facts.items()}
    return " ".join([kind, *(known[k] for k in ("vendor_id", "cpu family", "model") if k in known)])


@functools.cache
def _blas() -> str:
    """The routines that BLAS has chosen for this processor."""
    import numpy.linalg
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    numpy.linalg.inv(np.eye(2))
    found = {f"{lib.get('internal_api')} {lib.get('architecture', '')}".strip() for lib in threadpool_info()
             if lib.get("user_api") == "blas"}  # fmt: skip
    return ", ".join(sorted(found))


# Comparing


def check(recorded: Any, now: Any, recorded_on: dict[str, str] | None = None) -> None:
    """Fail where what is now differs from the record, and say by how much."""
    lines: list[str] = []
    _compare(recorded, now, "", lines)
    assert not lines, "\n".join(["differs from the record:", *lines[:25], AGAIN])
    _check_digests(recorded, now, recorded_on)


def _compare(recorded: Any, now: Any, where: str, lines: list[str], atol: float = 1e-12) -> None:
    if isinstance(recorded, dict) and isinstance(now, dict):
        if recorded.get("single"):
            atol = SINGLE * max(abs(x) for part in recorded.values() if isinstance(part, list) for x in part)
        for key in sorted({*recorded, *now}, key=str):
            place = f"{where}.{key}".lstrip(".")
            if key == "sha256":
                continue
            if key not in now:
                lines.append(f"{place}: was {short(recorded[key])}, is gone")
            elif key not in recorded:
                lines.append(f"{place}: was not there, is {short(now[key])}")
            else:
                _compare(recorded[key], now[key], place, lines, atol)
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for k, (one, other) in enumerate(zip(recorded, now, strict=True)):
            _compare(one, other, f"{where}[{k}]", lines, atol)
    elif not _same(recorded, now, atol):
        lines.append(f"{where}: was {short(recorded)}, is {short(now)}{_off(recorded, now)}")


def _same(one: Any, other: Any, atol: float = 1e-12) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (one, other))
        return numbers and math.isclose(one, other, rel_tol=RTOL, abs_tol=atol)
    return type(one) is type(other) and bool(one == other)


def _off(one: Any, other: Any) -> str:
    try:
        return f" (off by a relative {abs(other - one) / max(abs(one), abs(other)):.2g})"
    except (TypeError, ZeroDivisionError):
        return ""


def short(x: Any) -> str:
    """A value in one line that is not too long."""
    text = json.dumps(x, ensure_ascii=False, default=str)
    return text if len(text) <= 160 else text[:160] + " …"


def _check_digests(recorded: Any, now: Any, recorded_on: dict[str, str] | None) -> None:
    was, known = _digests(recorded), _digests(now)
    differing = [name for name in was if was[name] != known[name]]
    if not differing:
        return
    here = machine()
    others = [
        f"{k} {recorded_on[k]} then, {here[k]} now"
        for k in here
        if recorded_on and recorded_on.get(k) != here[k]
    ]
    if isinstance(recorded, dict) and recorded.get("blas") and others:
        warnings.warn(
            f"bits of {', '.join(differing)} differ, as they may where {'; '.join(others)}", stacklevel=3
        )
        return
    cause = (
        f"The numbers shown agree to {RTOL:g}. The record was made with other versions or on another processor "
        f"({'; '.join(others)}), which may be the cause: compare under those of the record before recording again."
        if others
        else f"The numbers shown agree to {RTOL:g}, on the same versions and kind of processor as the record's: the "
        "order of some operations or of random numbers has changed."
    )
    raise AssertionError(f"other bits than recorded: {', '.join(differing)}. {cause} {AGAIN}")


def _digests(x: Any, where: str = "") -> dict[str, str]:
    if not isinstance(x, dict):
        return {}
    found = {where: x["sha256"]} if "sha256" in x else {}
    for key, value in x.items():
        found |= _digests(value, f"{where}.{key}".lstrip("."))
    return found


# Interfaces: nothing may be lost, things may be added


def lost(recorded: Any, now: Any, where: str = "") -> list[str]:
    """What was recorded and is gone or changed; what was added is no loss, unless it must be given."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        lines = []
        for key, value in recorded.items():
            place = f"{where} > {key}" if where else str(key)
            lines += (
                lost(value, now[key], place) if key in now else [f"{place}: is gone (was {short(value)})"]
            )
        added = (key for key in now if key not in recorded)
        lines += [f"{where} > {key}: new and required" for key in added
                  if isinstance(now[key], dict) and now[key].get("required") is True]  # fmt: skip
        return lines
    if where.endswith(("choices", "enum")) and isinstance(recorded, list) and isinstance(now, list):
        return [f"{where}: {short(choice)} is gone" for choice in recorded if choice not in now]
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        pairs = enumerate(zip(recorded, now, strict=True))
        return [line for k, (one, other) in pairs for line in lost(one, other, f"{where}[{k}]")]
    return [] if _same(recorded, now) else [f"{where}: was {short(recorded)}, is {short(now)}"]


def check_kept(recorded: Any, now: Any) -> None:
    """Fail where something of an interface is gone."""
    lines = lost(recorded, now)
    assert not lines, "\n".join(["lost or changed:", *lines[:40], AGAIN])

"""Arrays in JSON: little-endian bytes, compressed, as text; booleans eight to a byte."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(array: NDArray[Any] | None) -> dict[str, Any] | None:
    """An array of floats or booleans as JSON can hold it."""
    if array is None:
        return None
    kind = "bool" if array.dtype == np.bool_ else "float64"
    data = np.packbits(array) if kind == "bool" else array.astype("<f8")
    text = base64.b64encode(zlib.compress(data.tobytes())).decode("ascii")
    return {"shape": list(array.shape), kind: text}


def unpack(packed: dict[str, Any] | None) -> NDArray[Any] | None:
    """The array that was packed; it cannot be written to."""
    if packed is None:
        return None
    shape = tuple(packed["shape"])
    kind = "bool" if "bool" in packed else "float64"
    data = zlib.decompress(base64.b64decode(packed[kind]))
    if kind == "float64":
        return np.frombuffer(data, dtype="<f8").reshape(shape)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=int(np.prod(shape)))
    return frozen(bits.astype(bool).reshape(shape))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, closed to writing."""
    array.setflags(write=False)
    return array

"""Tables in Markdown, seconds and ratios as the page has them."""

from collections.abc import Sequence

from benchmarks.peers.figures import Pair


def table(header: Sequence[object], lines: Sequence[Sequence[object]]) -> str:
    texts = [header, ["---"] * len(header), *lines]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in texts)


def seconds(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.2g} µs"


def both(pair: Pair | None, otherwise: str = "–") -> str:
    return otherwise if pair is None else f"{seconds(pair[0])} ({seconds(pair[1])})"


def ratio(theirs: float | None, ours: float | None) -> str:
    return "–" if theirs is None or not ours else f"{theirs / ours:.3g}"


def ratios(theirs: Pair | None, ours: Pair | None, threads: int = 0) -> str:
    """Of the clock (of the processor); the one to look at is bold."""
    if theirs is None or ours is None:
        return "–"
    clock, processor = (ratio(a, b) for a, b in zip(theirs, ours, strict=True))
    return f"{clock} (**{processor}**)" if threads == 1 else f"**{clock}** ({processor})"

"""Numbers of things, in words."""


def counted(n: int, one: str, many: str | None = None) -> str:
    """`1 run`, `1,200 runs`, `3 matrices`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"

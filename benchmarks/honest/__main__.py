"""Each promise of the defaults as a line of a table: asked, before, now.

    python -m benchmarks.honest                      # all checks that have no result yet, then benchmarks/honest.md
    python -m benchmarks.honest coverage --again     # one check, computed anew
    python -m benchmarks.honest coverage --quick     # small; prints only
    PYTHONPATH=../old/src python -m benchmarks.honest coverage --label before

Results are kept in `benchmarks/honest/results`, one file a check and version. "Before" is commit b121af5.
"""

from contextlib import suppress
from importlib import import_module
from pathlib import Path

from benchmarks.checks import Check, main

HERE = Path(__file__).parent
TODAY = (
    "coverage", "movielens", "old_weights", "scales", "scales_ordinary", "scales_factors", "scales_choosing",
    "noise_by_column", "noise_by_default", "convergence_warnings", "stuck_chains", "mixing", "expected_error",
    "look_ahead", "starts", "masked",
)  # fmt: skip
MODULES = ("ranks", "scales", "noises", "chains", "promises", "choosing", "oracle")


def find_checks() -> dict[str, Check]:
    checks: dict[str, Check] = {}
    for name in MODULES:
        with suppress(ImportError):  # an older version may lack what a module needs
            checks |= import_module(f"benchmarks.honest.{name}").CHECKS
    return checks


if __name__ == "__main__":
    head = f"{__doc__.splitlines()[0]}\n\nWritten by `python -m benchmarks.honest`. Before: commit b121af5."
    today = ", ".join(f"`{name}`" for name in TODAY)
    head += (
        " All but `could_be_had` are of today's prior of row and column effects; that is of the one before,"
        f" IG(1/2, 0.0001) ([averages](averages.md)). {today} are of today's sampler; the others are of the same"
        " posterior, whose chains settled more slowly, and of campaigns whose fits began anew within what was told"
        " at once. Times of `movielens` now are of another machine than before."
    )
    main(__doc__, head, HERE.parent / "honest.md", HERE / "results", find_checks())

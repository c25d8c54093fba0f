"""`python -m release JOB`: check what is released, or renew the lock file and the page of dependencies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from release.dependencies import write_page
from release.environments import StepError
from release.jobs import check_lowest, check_newest, check_pythons, check_wheel, write_lock

JOBS: dict[str, Callable[[], None]] = {
    "wheel": check_wheel,
    "lowest": check_lowest,
    "newest": check_newest,
    "pythons": check_pythons,
    "lock": write_lock,
    "page": write_page,
}


def main() -> int:
    """Run a job; 1 if a step of it failed."""
    options = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    options.add_argument("job", choices=JOBS)
    try:
        JOBS[options.parse_args().job]()
    except StepError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

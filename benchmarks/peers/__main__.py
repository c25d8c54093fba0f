"""maxentry and its peers side by side: SMURFF, myFM, NumPyro, cmfrec, SoftImpute.

    python -m benchmarks.peers                            # all that is not known yet; writes benchmarks/RESULTS.md
    python -m benchmarks.peers --only ml-100k --only smurff
    python -m benchmarks.peers --report                   # runs nothing, writes the page from what is known
    python -m benchmarks.peers --quick                    # tiny, with the peers that are there; writes to build/bench

Each result is kept in benchmarks/peers/cells.jsonl as it comes; what is there with the same settings and versions is
not run again, so an interrupted run goes on where it was. The peers' environments are made on first use.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import environments, report
from benchmarks.peers.cells import Store
from benchmarks.peers.methods import METHODS, OURS, Method
from benchmarks.peers.problems import PROBLEMS, QUICK, Problem
from benchmarks.peers.runner import IMPORT_REPEATS, Runner

HERE, ROOT = Path(__file__).parent, environments.ROOT
START_UP = "start-up"


def chosen(only: Sequence[str], problems: Sequence[Problem]) -> tuple[list[Problem], list[Method], bool]:
    """Problems, methods (ours always) and whether to look at the start-up; naming none of a kind means all."""
    names = {problem.name for problem in problems} | {method.name for method in METHODS} | {START_UP}
    if unknown := set(only) - names:
        sys.exit(f"--only takes any of {', '.join(sorted(names))}; got {', '.join(sorted(unknown))}")
    mine = [problem for problem in problems if problem.name in only]
    if not mine and START_UP not in only:
        mine = list(problems)
    methods = [method for method in METHODS if method is OURS or method.name in only]
    named = [method for method in METHODS if method.name in only]
    anything = not only or START_UP in only
    return mine, methods if named else list(METHODS), anything


def usable(methods: Sequence[Method], make: bool) -> tuple[list[Method], dict[str, str]]:
    """Those whose environment is there or can be made, and why others are missing."""
    able, absent = [], {}
    for method in methods:
        if method is OURS or (not make and environments.imports(method.name)):
            able.append(method)
        elif make:
            try:
                environments.ensure(method.name)
                able.append(method)
            except environments.PeerNotInstalledError as error:
                absent[method.name] = str(error)
        else:
            absent[method.name] = (
                f"{method.title} is not installed; `python -m benchmarks.peers` makes its environment."
            )
    for why in absent.values():
        print(why, flush=True)
    return able, absent


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--quick", action="store_true", help="tiny sizes, only peers that are installed")
    options.add_argument(
        "--only", action="append", default=[], help="a problem, a method or start-up; repeatable"
    )
    options.add_argument("--report", action="store_true", help="run nothing")
    options.add_argument("--out", type=Path, help="folder of cells.jsonl and RESULTS.md")
    given = options.parse_args(arguments)
    problems = QUICK if given.quick else PROBLEMS
    threads = [1] if given.quick else sorted({1, os.cpu_count() or 1})
    repeats = 1 if given.quick else IMPORT_REPEATS
    out = given.out or (ROOT / "build" / "bench" if given.quick else None)
    cells, page = (HERE / "cells.jsonl", HERE.parent / "RESULTS.md")
    if out is not None:
        cells, page = out / "cells.jsonl", out / "RESULTS.md"
    wanted, methods, starts = chosen(given.only, problems)
    able, absent = usable(methods, make=not given.quick and not given.report)
    store = Store(cells)

    def write() -> str:
        return report.write(page, store, problems, threads, absent, repeats)

    if not given.report:
        runner = Runner(store, able, HERE.parent / ".cache" / "peers", threads)
        if starts:
            runner.start_up(problems[0], repeats)
        for repeat in range(max((problem.repeats for problem in wanted), default=0)):
            for problem in wanted:
                print(f"[{problem.name}, round {repeat + 1} of {problem.repeats}]", flush=True)
                runner.run(problem, repeat)
                write()
    print(write())


if __name__ == "__main__":
    main()

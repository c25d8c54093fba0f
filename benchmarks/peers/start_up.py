"""The part of the page about imports and first fits."""

from benchmarks.peers.cells import Store
from benchmarks.peers.figures import Pair
from benchmarks.peers.methods import METHODS, OURS
from benchmarks.peers.problems import Problem
from benchmarks.peers.tables import both, ratios, table


def best_of(store: Store, problem: str, name: str, what: str, repeats: int) -> Pair | None:
    """The least seconds of whole processes, on the clock and of the processor."""
    places = [(problem, name, what, 1, repeat) for repeat in range(repeats)]
    found = [store.latest[place] for place in places if place in store.latest]
    ended = [result for result in found if result["outcome"] == "ended"]
    return (min(r["wall"] for r in ended), min(r["cpu"] for r in ended)) if ended else None


def imports(store: Store, repeats: int) -> str:
    """What it takes to import each."""

    def best(name: str) -> Pair | None:
        return best_of(store, "start-up", name, "imported", repeats)

    bare, numpy, ours = best("nothing"), best("numpy"), best(OURS.name)
    if bare is None or numpy is None or ours is None:
        return ""

    def net(pair: Pair) -> Pair:
        return max(pair[0] - bare[0], 1e-9), max(pair[1] - bare[1], 1e-9)

    names = [("import numpy", "numpy"), ("import maxentry", "import maxentry")]
    names += [(m.imports, m.name) for m in METHODS]
    lines = [
        [f"`{statement}`", both(net(pair)), ratios(net(pair), net(numpy), 1), ratios(net(pair), net(ours), 1)]
        for statement, name in names
        if (pair := best(name))
    ]
    return (
        "\n## Start-up\n\nFresh processes, warm caches of files and kernels, less the bare interpreter, best of "
        f"{repeats}. `import maxentry` fetches its parts when they are first used; `from maxentry import complete` has "
        "all that a fit needs.\n\n"
        + table(["", "seconds", "over `import numpy`", "over `from maxentry import complete`"], lines)
    )


def first_fits(store: Store, problem: Problem, repeats: int) -> str:
    """Whole processes from their start to an estimate."""
    ours = best_of(store, problem.name, OURS.name, "first", repeats)
    if ours is None:
        return ""
    pairs = [(m, best_of(store, problem.name, m.name, "first", repeats)) for m in METHODS]
    lines = [[m.title, both(pair), ratios(pair, ours, 1)] for m, pair in pairs if pair]
    return (
        f"\nA first small fit: a whole process, from its start to the estimate of {problem.title.split(',')[0]} after "
        "100 sweeps, one thread; ours is `maxentry.complete` with compiled kernels in the cache.\n\n"
        + table(["", "seconds", "ratio"], lines)
    )

"""The page and the picture: what was asked, the figures at the end of campaigns, and curves."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import matrices
from benchmarks.goals import campaigns, ceiling, peer, reliability, times, trap
from benchmarks.measures import table

HERE = Path(__file__).parent
PAGE, PICTURE, RESULTS = HERE.parent / "goals.md", HERE.parent / "goals.png", HERE / "results"
SHARED = ("uniform", "before", "fill")
# goal, measure, whether large is good, title
GOALS = (
    ("best", "recall", True, "Recall of the best 5%"),
    ("column", "regret", False, "Regret of columns, in sds of the table (in brackets by the pattern alone)"),
    ("column", "measured regret", False, "Regret of columns of the best measured, in sds of the table"),
    ("rank", "tau", True, "Kendall's tau of the rows' averages (in brackets P(best) of the best row)"),
    ("threshold", "wrong", False, "Entries on the wrong side of the 80% quantile, in per cent"),
)
BESIDE = {"regret": "pattern regret", "tau": "chance"}
HEAD = """What choosing for a goal brings, beside rules that others use.

Written by `python -m benchmarks.goals`; figures of single campaigns are in `goals/cells.jsonl`. The replicates
that are there are counted; the command goes on to ten. `before` is the default of commit b121af5, which was the default
when goals were asked for (`python -m benchmarks.goals.before`); `fill` is a later one, which finds more by itself.

"""
TINY = 0.005  # sds: regret below it counts as none

Cells = dict[tuple[str, int, str], list[dict[str, float]]]


FEWER = "Where a rule has fewer, those of the goal on the same ones stand beside it."


def rules_of(cells: Cells, goal: str, measure: str) -> list[str]:
    """The rules of a goal that have figures."""
    rules = [*SHARED, *(rule for rule in campaigns.RULES if rule.startswith(goal + ":"))]
    have = {rule for (_, _, rule), looks in cells.items() if measure in looks[0]}
    return [rule for rule in rules if rule in have]


def curves(cells: Cells, name: str, rule: str, measure: str) -> np.ndarray:
    """Replicates x looks, by seed."""
    found = [
        [look[measure] for look in looks]
        for (n, _, r), looks in sorted(cells.items())
        if (n, r) == (name, rule) and measure in looks[0]
    ]
    return np.array(found)


def pairs(
    cells: Cells, name: str, measure: str, one: str, other: str, their: str | None = None
) -> np.ndarray:
    """Means at the end of two rules, over the replicates that both have; their: the measure of the other one."""
    seeds = [s for n, s, r in cells if (n, r) == (name, one) and (name, s, other) in cells]
    both = (one, measure), (other, their or measure)
    found = [[cells[name, s, rule][-1].get(what, np.nan) for rule, what in both] for s in sorted(seeds)]
    return np.array(found).mean(0) if found else np.full(2, np.nan)


def verdicts(cells: Cells) -> list[list[str]]:
    """What was asked of campaigns on real matrices, and what came."""
    lines = []

    def count(asked: str, measure: str, ours: str, other: str, good: Any, their: str | None = None) -> None:
        both = {name: pairs(cells, name, measure, ours, other, their) for name in matrices.MATRICES}
        both = {name: x for name, x in both.items() if np.isfinite(x).all()}
        not_so = [f"{name} ({x[0]:.3f}, {x[1]:.3f})" for name, x in both.items() if not good(*x)]
        kept = f"{len(both) - len(not_so)} of {len(both)}"
        lines.append([asked, kept, "; ".join(not_so) or "–"])

    half = lambda a, b: a <= max(b / 2, TINY)  # noqa: E731
    for other, name in (("before", "the default of b121af5"), ("fill", "`fill` today")):
        twice = f"recall at least twice that of {name} (six of ten)"
        count(twice, "recall", "best: goal", other, lambda a, b: a >= 2 * b)
        count(f"recall never below that of {name}", "recall", "best: goal", other, lambda a, b: a >= b)
        asked = f"regret of columns of the answer at most half of that of {name} and its pattern"
        count(asked, "regret", "column: goal", other, half, "pattern regret")
        if other == "fill":
            asked = f"regret of columns of the answer at most half of that of {name} and the same answer"
            count(asked, "regret", "column: goal", other, half)
        asked = f"regret of columns of the best measured at most half of that of {name}"
        count(asked, "measured regret", "column: goal", other, half)
    for measure, what in (("tau", "Kendall's tau"), ("chance", "P(best) of the best row")):
        asked = f"{what} at least that of integrated variance, less 0.01"
        count(asked, measure, "rank: goal", "rank: variance", lambda a, b: a >= b - 0.01)
    asked = "entries on the wrong side at most those of `fill`"
    count(asked, "wrong", "threshold: goal", "fill", lambda a, b: a <= b)
    return lines


def reach(cells: Cells, found: list[dict[str, Any]]) -> str:
    """What is missed of recall and of the regret of the best measured, beside what could be found (below)."""
    lines = []

    def ends(name: str, rule: str, measure: str) -> list[float]:
        seeds = [x["seed"] for x in found if x["matrix"] == name]
        return [cells[name, s, rule][-1][measure] for s in seeds if (name, s, rule) in cells]

    for name in matrices.MATRICES:
        mine = {what: float(np.mean([x[what] for x in found if x["matrix"] == name]))
                for what in ("all", "four fifths", "regret") if any(x["matrix"] == name for x in found)}  # fmt: skip
        ours, fill = pairs(cells, name, "recall", "best: goal", "fill")
        if ours < 2 * fill and mine:
            wish = 2 * float(np.mean(ends(name, "fill", "recall")))
            why = "missed" if wish <= mine["four fifths"] else "out of reach"
            why += f": who knows four fifths of the values finds {mine['four fifths']:.3f}"
            if wish > mine["all"]:
                why = f"impossible: who knows all values finds {mine['all']:.3f}"
            lines.append([f"recall twice `fill`'s, {name}", f"{wish:.3f}", why])
        ours, fill = pairs(cells, name, "measured regret", "column: goal", "fill")
        if ours > max(fill / 2, TINY) and mine:
            wish = float(np.mean(ends(name, "fill", "measured regret"))) / 2
            why = "missed" if wish >= mine["regret"] else "out of reach"
            why += ": who knows four fifths of the values has"
            lines.append([f"half of `fill`'s regret, {name}", f"{wish:.3f}", f"{why} {mine['regret']:.3f}"])
    text = "\nOf what is missed, what nobody could keep, from the table of what could be found below and the same "
    text += "replicates. All else that the table above names is simply missed.\n\n"
    return text + table(["asked", "that is", "and"], lines)


def goal_table(cells: Cells, goal: str, measure: str, large: bool, title: str) -> str:
    rules, lines, times_ = rules_of(cells, goal, measure), [], 100 if measure == "wrong" else 1
    sums, ours = defaultdict(list), f"{goal}: goal"
    for name in matrices.MATRICES:
        line, ends = [], {}
        for rule in rules:
            found = curves(cells, name, rule, measure)
            if not len(found):
                line.append("–")
                continue
            end = times_ * found[:, -1].mean()
            text = f"{end:.1f}" if times_ > 1 else f"{end:.2f}"
            if measure in BESIDE:
                text += f" ({curves(cells, name, rule, BESIDE[measure])[:, -1].mean():.2f})"
            if len(found) < len(curves(cells, name, ours, measure)):  # fewer than ours, and compared on these
                there = times_ * pairs(cells, name, measure, rule, ours)[1]
                text += f" (goal {there:.{1 if times_ > 1 else 2}f}; {len(found)})"
            else:
                ends[rule] = end
            line.append(text)
            sums[rule].append(end)
        if ends:
            best = max(ends.values()) if large else min(ends.values())
            line = [f"**{x}**" if ends.get(rule) == best else x for rule, x in zip(rules, line, strict=True)]
            most = max(len(curves(cells, name, rule, measure)) for rule in ends)
            lines.append([f"{name} ({most})", *line])
    whole = [len(sums[rule]) == len(lines) and rule in ends for rule in rules]
    means = [f"{np.mean(sums[rule]):.3f}" if all_ else "–" for rule, all_ in zip(rules, whole, strict=True)]
    return f"\n## {title}\n\nAfter the last batch, mean over replicates (how many). {FEWER}\n\n" + table(
        ["", *(rule.removeprefix(goal + ": ") for rule in rules)], [*lines, ["mean of matrices", *means]]
    )


def pair_table(cells: Cells) -> str:
    """Rankings by the goal less those by integrated variance, of the same replicates, with standard errors."""

    def show(x: list[float]) -> str:
        return f"{np.mean(x):+.3f}" + (f" ± {np.std(x, ddof=1) / len(x) ** 0.5:.3f}" if len(x) > 1 else "")

    ours, theirs, lines, means = "rank: goal", "rank: variance", [], defaultdict(list)
    for name in matrices.MATRICES:
        both = [s for (n, s, rule) in cells if (n, rule) == (name, ours) and (name, s, theirs) in cells]
        line = [f"{name} ({len(both)})"]
        for measure in ("tau", "chance") if both else ():
            less = [cells[name, s, ours][-1][measure] - cells[name, s, theirs][-1][measure] for s in both]
            line.append(show(less))
            means[measure].append(float(np.mean(less)))
        lines += [line] if both else []
    lines.append(["mean of matrices", *map(show, means.values())])
    text = (pair_table.__doc__ or "") + " P(best) is that of the row that is the best."
    return f"\n## Rankings, pair by pair\n\n{text}\n\n" + table(["", "Kendall's tau", "P(best)"], lines)


def ceiling_table(cells: Cells, found: list[dict[str, Any]]) -> str:
    """What campaigns find of the best beside what could be found, and the regret of columns of the best measured."""

    def mean(rule: str, measure: str, name: str) -> str:
        ends = [cells[at][-1][measure] for x in mine if (at := (name, x["seed"], rule)) in cells]
        times_ = 1 if rule != "fill" else 2 if measure == "recall" else 0.5
        return f"{times_ * np.mean(ends):.3f}" if len(ends) == len(mine) else "–"

    lines = []
    for name in matrices.MATRICES:
        if not (mine := [x for x in found if x["matrix"] == name]):
            continue
        share, every, most, regret = (
            float(np.mean([x[what] for x in mine])) for what in ("share", "all", "four fifths", "regret")
        )
        recalls = [mean(rule, "recall", name) for rule in ("fill", "best: goal")]
        regrets = [mean(rule, "measured regret", name) for rule in ("fill", "column: goal")]
        line = [f"{share:.0%}", *recalls, f"{most:.3f}", f"{every:.3f}", *regrets, f"{regret:.3f}"]
        lines.append([f"{name} ({len(mine)})", *line])
    head = ["", "count as best", "twice `fill`'s recall", "goal", "four fifths", "all"]
    head += ["half of `fill`'s regret", "goal", "four fifths"]
    text = " ".join((ceiling.__doc__ or "").split("\n\n", 1)[1].split())
    return f"\n## What could be found\n\n{text}\n\n" + table(head, lines)


def curve_table(cells: Cells) -> str:
    """Means over all matrices after every batch, of the matrices and seeds that every rule of a goal has."""
    lines = []
    for goal, measure, *_ in GOALS:
        rules = rules_of(cells, goal, measure)
        have = [{(n, s) for (n, s, r), x in cells.items() if r == rule and measure in x[0]} for rule in rules]
        both = sorted(set.intersection(*have)) if have else []
        for rule in rules if both else []:
            values = np.array([[look[measure] for look in cells[n, s, rule]] for n, s in both]).mean(0)
            lines.append([measure, rule.removeprefix(goal + ": "), len(both), *(f"{x:.3f}" for x in values)])
    head = ["", "rule", "campaigns", *(f"{2 + look / 2:g} m" for look in range(campaigns.BATCHES + 1))]
    return (
        "\n## Curves\n\nMeans over campaigns after every batch, then each matrix by itself.\n\n"
        + table(head, lines)
        + "\n![Curves of each matrix](goals.png)\n"
    )


def picture(cells: Cells) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    names = list(matrices.MATRICES)
    figure, axes = plt.subplots(
        len(GOALS), len(names), figsize=(2.2 * len(names), 2.1 * len(GOALS)), squeeze=False
    )
    for line, (goal, measure, *_) in zip(axes, GOALS, strict=True):
        for ax, name in zip(line, names, strict=True):
            for k, rule in enumerate(rules_of(cells, goal, measure)):
                if len(found := curves(cells, name, rule, measure)):
                    label = rule.removeprefix(goal + ": ")
                    style = (
                        {"lw": 2.4, "color": "black"} if label == "goal" else {"lw": 1.1, "color": f"C{k}"}
                    )
                    ax.plot(2 + np.arange(found.shape[1]) / 2, found.mean(0), label=label, **style)
            ax.tick_params(labelsize=6)
            if goal == "best":
                ax.set_title(name, fontsize=8)
        line[0].set_ylabel(measure, fontsize=8)
        line[0].legend(fontsize=5, frameon=False)
    figure.supxlabel("measured entries over the longer side", fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=75)


def read(name: str) -> Any:
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.is_file() else None


def keep(name: str, found: Any) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def write_page() -> None:
    cells, text = campaigns.read_cells(), HEAD
    if cells:
        text += "## Asked\n\n" + table(["asked", "kept on", "not on (ours, other)"], verdicts(cells))
        if (found := read("ceiling")) is not None:
            text += reach(cells, found)
        text += "\n" + " ".join((campaigns.__doc__ or "").split("\n\n", 1)[1].split()) + "\n"
        text += "".join(goal_table(cells, *goal) for goal in GOALS) + pair_table(cells)
        if (found := read("ceiling")) is not None:
            text += ceiling_table(cells, found)
        text += curve_table(cells)
        picture(cells)
    if (found := read("baybe")) is not None:
        text += "\n## BayBE itself\n\n" + " ".join((peer.__doc__ or "").split("\n\n", 1)[1].split()) + "\n\n"
        head = ["", "rule", *(f"{2 + look / 2:g} m" for look in range(peer.BATCHES + 1)), "CPU s"]
        text += table(
            head,
            [[x["what"], x["rule"], *(f"{y:.2f}" for y in x["recall"]), f"{x['cpu']:.0f}"] for x in found],
        )
    else:
        text += "\n## BayBE itself\n\nNot run to the end yet: `python -m benchmarks.goals baybe`. GP in the "
        text += "tables is a model of the same kind (`goals/gaussian_process.py`).\n"
    if (found := read("trap")) is not None:
        text += "\n## A wrong mode\n\n" + " ".join((trap.__doc__ or "").split("\n\n", 1)[1].split())
        number = len(next(iter(found.values())))
        text += f" Recall of the best 5%, {number} tables, after every batch of {trap.BATCH}.\n\n"
        lines = [
            [name, *(f"{x:.2f}" for x in np.mean(x, axis=0)), f"{np.min(x, axis=0)[-1]:.2f}"]
            for name, x in found.items()
        ]
        text += table(["rule", *range(1, trap.BATCHES + 1), "worst at the end"], lines)
    if (found := read("times")) is not None:
        text += f"\n## Time\n\nCPU seconds of choosing {times.N} entries of {times.M:,} x {times.M:,}, one thread, "
        text += f"from {times.S} draws of rank {times.RANK}.\n\n"
        text += table(
            ["", "s", "over `fill`"], [[k, f"{x:.2f}", f"{x / found['fill']:.2f}"] for k, x in found.items()]
        )
        text += "\nWith deviations: of entries from the pattern, as answers suppose them; "
        text += f"{times.MEASURED:,} are measured.\n"
    if (found := read("loss")) is not None:
        text += "\n" + " ".join((times.__doc__ or "").split("\n\n", 1)[1].split()) + "\n\n"
        head = ["", "gain over that of all candidates, mean", "least"]
        text += table(head, [[k, f"{np.mean(x):.3f}", f"{np.min(x):.3f}"] for k, x in found.items()])
    if (found := read("reliability")) is not None:
        text += (
            "\n## Probabilities\n\n"
            + " ".join((reliability.__doc__ or "").split("\n\n", 1)[1].split())
            + "\n\n"
        )
        lines = []
        for name, bins in found.items():
            far = [abs(b["came"] - b["said"]) / b["error"] for b in bins]
            shown = ", ".join(f"{b['said']:.3g}: {b['came']:.3g} ± {b['error']:.1g}" for b in bins)
            lines.append([name, shown, f"{sum(x <= 2 for x in far)} of {len(far)}, worst {max(far):.1f}"])
        text += table(["answers", "said: came true", "within two errors"], lines)
    PAGE.write_text(text)

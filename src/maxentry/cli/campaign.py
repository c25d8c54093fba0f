"""The campaign itself: `new`, `set`, `rename`, `delete`, rows and columns; `list`, `status`, `history` show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from maxentry.campaign.settings import CHANGEABLE, WITHOUT_MODEL
from maxentry.cli import options, output
from maxentry.cli.options import add_settings, open_campaign, option
from maxentry.tables import Table
from maxentry.wording import count, sentence

PANEL = "Campaigns"
LABEL_FILE = "labels, one a line; of a CSV, Excel or Parquet file the first column, or FILE:COLUMN."
commands = typer.Typer()


@commands.command(rich_help_panel=PANEL, epilog="JSON: campaign, rows, cols, told, available, seed.")
@add_settings(options.SETTINGS, defaults=True, panels=True)
def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The campaign's name.")],
    source: Annotated[
        str | None,
        option(
            "--from",
            metavar="FILE",
            help="CSV, Excel or Parquet, a table with holes or row, col, value: labels and values are taken.",
        ),
    ] = None,
    rows: Annotated[str | None, option("--rows", metavar="FILE", help=f"Row {LABEL_FILE}")] = None,
    cols: Annotated[str | None, option("--cols", metavar="FILE", help=f"Column {LABEL_FILE}")] = None,
    row: Annotated[list[str] | None, option("--row", help="A row label; give it again for more.")] = None,
    col: Annotated[list[str] | None, option("--col", help="A column label; give it again for more.")] = None,
    shape: Annotated[
        str | None, option("--shape", metavar="30x20", help="Labels r1, r2, … and c1, c2, …")
    ] = None,
    *,
    names: options.Names = None,
    se: options.StandardError = None,
    sheet: options.Sheet = None,
    categories: options.Categories = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    **settings: Any,
) -> None:
    """Create a campaign: name its rows and columns, and what is known of them already."""
    from maxentry.campaign.campaign import Campaign
    from maxentry.cli import inputs, matrices
    from maxentry.model.likelihood import kind_words

    model = options.parse_settings({name: settings[name] for name in ("kind", "levels")})
    words = kind_words(model.get("kind"), model.get("levels"))
    matrix = matrices.Matrix([], [])
    if source is not None:
        matrix = matrices.read_matrix(source, names, se, words, sheet, sheets=True)
    size = (0, 0) if shape is None else options.parse_shape(shape)
    if size is None:
        raise typer.BadParameter(f"expected a shape like 30x20, got {shape!r}.", param_hint="--shape")
    counted_rows, counted_cols = options.count_labels(size)
    in_rows = matrix.row_labels or inputs.read_feature_labels(settings["row_features"], "row")
    in_cols = matrix.col_labels or inputs.read_feature_labels(settings["col_features"], "column")
    row_labels = _choose_labels("row", rows, row or [], counted_rows, in_rows)
    col_labels = _choose_labels("col", cols, col or [], counted_cols, in_cols)
    given = _read_settings(settings, row_labels, col_labels, categories=categories)
    if matrix.corner not in ("row", "rows"):
        given.setdefault("row_name", matrix.corner)
    for setting, noun in zip(("row_name", "col_name", "value_name"), matrix.names, strict=False):
        given.setdefault(setting, " ".join(noun.split())[:200])
    if matrix.flags and not options.is_given(context, "kind"):
        given["kind"] = matrices.take_for_yes_no(source)
    values = matrix.columns() if matrix.rows else None
    with output.show_warnings():
        campaign = Campaign.create(storage, name, row_labels, col_labels, values=values, who=who, **given)
    with campaign:
        settled, status = campaign.settings, campaign.status()
    (m1, m2), seed = settled.shape, settled.seed
    facts = {"campaign": name, "rows": m1, "cols": m2, "told": status.measurements}
    told = f", {count(status.measurements, 'value')} told" if status.measurements else ""
    text = f"Campaign {name}: {m1} rows, {m2} columns{told}."
    output.report({**facts, "available": status.available, "seed": seed}, text, as_json)
    open_scale = (
        settled.likelihood.limits is None and settled.kind == "numbers" and settled.transform == "none"
    )
    if as_json:
        return
    where = output.next_options(storage, name, several=len(Campaign.list(storage)) > 1)
    plain = [reading.low for reading in matrix.readings if reading.is_value]
    if plain and open_scale and not matrix.flags:
        _hint_scale(plain, where)
    if status.available:
        n = min(24, max(m1, m2), status.available)
        output.say(f"Next: maxentry ask {n} -o plate.csv{where}", "dim")


def _hint_scale(values: list[float], where: str) -> None:
    """Say what values look like that were not called so: yes and no, grades, or a scale with ends."""
    from maxentry.transform import guess_ends, hint_kind

    if kind := hint_kind(values, shell=True):
        output.say(f"{sentence(kind)} Only `new` can say it: the kind of a campaign stays.", "dim")
    elif ends := guess_ends(values):
        low, high = ends
        output.say(
            f"All values lie from {low:g} to {high:g}, several at an end or near it. If the scale ends there, say so, "
            "and predictions know it (posterior --measured then stays within): maxentry set --limits "
            f"{low:g},{high:g}{where}",
            "dim",
        )


def _choose_labels(
    side: str, file: str | None, listed: list[str], counted: list[str], in_table: list[str]
) -> list[str]:
    """The labels that were given in one way, else those of the table."""
    from maxentry.cli import inputs

    from_file = [] if file is None else inputs.read_labels(file)
    ways = [labels for labels in (from_file, listed, counted) if labels]
    if len(ways) > 1:
        raise typer.BadParameter(f"expected one of --{side}s, --{side} and --shape, got several.")
    if not ways and not in_table:
        raise typer.BadParameter(f"expected --from, --{side}s, --{side} or --shape, got none.")
    return ways[0] if ways else in_table


def _add_command(side: Literal["rows", "cols"], help: str) -> None:
    """Register `add-rows` or `add-cols`."""

    @commands.command(
        f"add-{side}", help=help, rich_help_panel=PANEL,
        epilog="JSON: campaign, rows, cols (how many there are now).",
    )  # fmt: skip
    def add(
        words: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="[LABEL|FILE]…",
                help="The new labels, or files of labels as in `new`.",
                show_default=False,
            ),
        ] = None,
        literal: Annotated[
            list[str] | None, option("--label", help="A label, also if there is a file of this name.")
        ] = None,
        cost: Annotated[
            float | None,
            option(
                "--cost",
                help="Their row or column cost; the mean of the others if not given. Where every entry has a cost, "
                "each new entry costs the mean of its column (row).",
            ),
        ] = None,
        features: Annotated[
            str | None,
            option(
                "--features",
                metavar="FILE",
                help="What is known of them, by label; without labels, those of this file are added.",
            ),
        ] = None,
        who: options.Who = None,
        as_json: options.Json = False,
        storage: options.Storage = options.STORAGE,
        name: options.Name = None,
    ) -> None:
        from maxentry.cli import inputs

        labels = [*inputs.read_new_labels(words or []), *(literal or [])]
        noun = "row" if side == "rows" else "column"
        labels = labels or inputs.read_feature_labels(features, noun)
        if not labels:
            raise typer.BadParameter("expected at least one label, got none.")
        known = None if features is None else inputs.read_feature_table(features)
        with open_campaign(storage, name) as campaign, output.show_warnings():
            extend = campaign.add_rows if side == "rows" else campaign.add_cols
            extend(labels, cost=cost, features=known, who=who)
            rows, cols = campaign.settings.shape
        document = {"campaign": campaign.name, "rows": rows, "cols": cols}
        output.report(document, f"{campaign.name}: now {rows} rows, {cols} columns.", as_json)


_add_command("rows", "Add rows to a campaign; they can be measured in every column.")
_add_command("cols", "Add columns to a campaign; they can be measured in every row.")


def _remove_command(side: Literal["rows", "cols"], help: str) -> None:
    """Register `remove-rows` or `remove-cols`."""

    @commands.command(
        f"remove-{side}", help=help, rich_help_panel=PANEL,
        epilog="JSON: campaign, rows, cols (how many there are now), struck_out (values).",
    )  # fmt: skip
    def remove(
        labels: Annotated[list[str], typer.Argument(help="The labels to remove.")],
        who: options.Who = None,
        as_json: options.Json = False,
        storage: options.Storage = options.STORAGE,
        name: options.Name = None,
    ) -> None:
        with open_campaign(storage, name) as campaign:
            values = (campaign.remove_rows if side == "rows" else campaign.remove_cols)(labels, who=who)
            rows, cols = campaign.settings.shape
        document = {"campaign": campaign.name, "rows": rows, "cols": cols, "struck_out": values}
        struck = f", {count(values, 'value')} struck out" if values else ""
        output.report(document, f"{campaign.name}: now {rows} rows, {cols} columns{struck}.", as_json)


_remove_command(
    "rows", "Remove rows from a campaign; their values are struck out, and the history keeps them."
)
_remove_command(
    "cols", "Remove columns from a campaign; their values are struck out, and the history keeps them."
)


@commands.command(
    rich_help_panel=PANEL,
    epilog="JSON: campaign (its name now), before; of a row or column also row or col (now).",
)
def rename(
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    row: Annotated[str | None, option("--row", metavar="LABEL", help="Rename this row instead.")] = None,
    col: Annotated[str | None, option("--col", metavar="LABEL", help="Rename this column instead.")] = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Give a campaign another name, or one of its rows or columns another label; all that is known of it stays."""
    if row is not None and col is not None:
        raise typer.BadParameter("expected a row or a column to rename, got both.")
    old = row if col is None else col
    with open_campaign(storage, name) as campaign, output.show_warnings():
        if old is not None:
            (campaign.rename_rows if col is None else campaign.rename_cols)({old: new}, who=who)
            side, noun = ("row", "Row") if col is None else ("col", "Column")
            document = {"campaign": campaign.name, side: new, "before": old}
            output.report(document, f"{noun} {old} of {campaign.name} is now {new}.", as_json)
            return
        before = campaign.name
        campaign.rename(new, who=who)
    output.report({"campaign": new, "before": before}, f"Campaign {before} is now {new}.", as_json)


@commands.command(rich_help_panel=PANEL, epilog="JSON: campaign, events (how many it had).")
def delete(
    name: Annotated[
        str, typer.Argument(help="The campaign to delete.", autocompletion=options.complete_campaign)
    ],
    confirm: Annotated[
        str | None, option("--confirm", metavar="NAME", help="Its name again, instead of the question.")
    ] = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
) -> None:
    """Delete a campaign with its whole history, for good. It asks for the name; `backup` first if in doubt."""
    from maxentry.campaign.campaign import Campaign
    from maxentry.errors import CampaignError

    with open_campaign(storage, name) as campaign:
        n = campaign.status().events
    if confirm is None:
        question = f"This deletes {name} and its {count(n, 'event')} for good. Type its name"
        confirm = typer.prompt(question, err=True)
    if confirm != name:
        raise CampaignError(f"not deleted: expected the name {name!r}, got {confirm!r}.")
    n = Campaign.delete(storage, name)
    output.report({"campaign": name, "events": n}, f"Deleted {name} ({count(n, 'event')}).", as_json)


@commands.command("set", rich_help_panel=PANEL, epilog="JSON: campaign, changed.")
@add_settings(CHANGEABLE, panels=True)
def change(
    *,
    drop: Annotated[
        list[str] | None, option("--drop", metavar="SETTING", help="Take a setting back: budget, mask, …")
    ] = None,
    categories: options.Categories = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
    **settings: Any,
) -> None:
    """Change settings of a campaign, from here on."""
    with open_campaign(storage, name) as campaign:
        now = campaign.settings
        given = _read_settings(settings, now.rows, now.cols, now.goal, categories)
        given |= {setting.replace("-", "_"): None for setting in drop or []}
        if not given:
            raise typer.BadParameter("expected a setting to change, got none.")
        campaign.set(who=who, **given)
    document = {"campaign": campaign.name, "changed": sorted(given)}
    output.report(document, f"{campaign.name}: changed {', '.join(sorted(given))}.", as_json)


def _read_settings(
    settings: Mapping[str, Any], rows: Any, cols: Any, goal: str = "fill", categories: str | None = None
) -> dict[str, Any]:
    """The settings that were given, as `Campaign.create` and `Campaign.set` take them; goal: the present one."""
    from maxentry.cli import inputs

    given = options.parse_settings(settings)
    for name, read in (("costs", inputs.read_costs), ("mask", inputs.read_mask)):
        if name in given:
            given[name] = read(given[name], rows, cols)
    if "weights" in given:
        given["weights"] = inputs.read_weights(given["weights"], rows, cols, given.get("goal", goal))
    inputs.read_all_features(given, rows, cols, categories)
    return given


# Where campaigns stand, and how they got there


@commands.command("list", rich_help_panel=PANEL, epilog="JSON: campaigns (names).")
def list_campaigns(as_json: options.Json = False, storage: options.Storage = options.STORAGE) -> None:
    """Name the campaigns in a storage."""
    from maxentry.campaign.campaign import Campaign

    names = Campaign.list(storage)
    if as_json:
        output.print_json({"campaigns": names})
        return
    for name in names:
        print(name)


@commands.command(
    rich_help_panel=PANEL,
    epilog="JSON: name, rows, cols, measurements, told, pending, expired, failed, withdrawn, available, spent, "
    "budget, target_sd, acquisition, rank, transform, events, created_at, changed_at, kind, levels, limits, at_limit, "
    "advice, outlook (null or error_now, error_with_pending, error_after, entries, cost, error_at_start, "
    "gain_per_cost_so_far, entries_left, gain_per_cost), past (batches with measurements, entries, "
    "error_before, error_promised, error_after), goal, enough, weights, row_features, col_features (null or n, names), "
    "error_of (measurement, entry, probability or grade), notes (on values that must be slips, and on units that the "
    "goal mixes) and at_stake (null or now, after, changes, choices).",
)
def status(
    n: Annotated[
        int, option("--next", min=1, help="The size of the next batch that is looked ahead to.")
    ] = 8,
    fast: Annotated[bool, option("--fast", help="Counts alone: no posterior, no look ahead.")] = False,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Say where a campaign stands, how far its matrix is known, and whether going on is worth it."""
    with open_campaign(storage, name) as campaign:
        facts = campaign.status().to_dict() | {
            "outlook": None,
            "advice": "not looked at (--fast)",
            "past": [],
            "at_stake": None,
        }
        if not fast:
            facts |= campaign.outlook(n).to_dict()
    if as_json:
        output.print_json(facts)
        return
    from rich.panel import Panel
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim")
    for line in describe_status(facts, campaign.settings.unit):
        grid.add_row(*line)
    panel = Panel(grid, title=facts["name"], title_align="left", expand=False)
    output.console(stderr=False).print(panel, soft_wrap=False)


def describe_status(status: dict[str, Any], unit: str | None = None) -> list[tuple[str, str]]:
    """The status in words: pairs of a name and a text; unit: of the values, where one was given."""
    from maxentry.campaign.views import describe_features, describe_goal, describe_kind
    from maxentry.model.likelihood import ERROR_WORDS

    size, words = status["rows"] * status["cols"], ERROR_WORDS[status["error_of"]]
    if unit:
        words = words.replace("your units", f"in {unit}")
    again = status["measurements"] - status["told"]
    told = f"{count(status['told'], 'entry', 'entries')} ({100 * status['told'] / size:.3g}%)"
    lost = [f"{status[key]} {key}" for key in ("expired", "failed", "withdrawn") if status[key]]
    spent = f"{status['spent']:g}" + ("" if status["budget"] is None else f" of {status['budget']:g}")
    return [
        ("matrix", f"{status['rows']} rows, {status['cols']} columns"),
        *([("values", kind)] if (kind := describe_kind(status)) else []),
        *([("goal", goal)] if (goal := describe_goal(status)) else []),
        *([("features", known)] if (known := describe_features(status)) else []),
        ("told", told + (f", and {again} again" if again else "")),
        *(("look at", note) for note in status["notes"]),
        ("pending", ", ".join([str(status["pending"]), *lost])),
        ("left to ask", str(status["available"])),
        ("spent", spent),
        *_describe_outlook(status["outlook"], words),
        ("advice", status["advice"]),
        ("model", f"rank {status['rank']}, transform {status['transform']}, {_describe_choice(status)}"),
    ]


def _describe_choice(status: dict[str, Any]) -> str:
    """How entries are chosen."""
    by_goal = status["goal"] != "fill" and status["acquisition"] not in WITHOUT_MODEL
    return "entries chosen for the goal" if by_goal else str(status["acquisition"])


def _describe_outlook(outlook: dict[str, float] | None, words: str) -> list[tuple[str, str]]:
    """The expected error now, once all that is pending is told, and after the next batch; what that gains.

    words: what the error is of.
    """
    if outlook is None:
        return []
    pending = [("… with pending", f"{outlook['error_with_pending']:.3g}")]
    batch = f"{count(int(outlook['entries']), 'entry', 'entries')} more, cost {outlook['cost']:.4g}"
    so_far = (
        f"{outlook['gain_per_cost_so_far']:.3g} so far, from {outlook['error_at_start']:.3g} at the start"
    )
    return [
        ("expected error", f"{outlook['error_now']:.3g} now ({words})"),
        *(pending if outlook["error_with_pending"] != outlook["error_now"] else []),
        ("… after next", f"{outlook['error_after']:.3g} ({batch})"),
        (
            "gain per cost",
            f"{outlook['gain_per_cost']:.3g} less expected error for a unit of cost ({so_far})",
        ),
    ]


@commands.command(
    rich_help_panel=PANEL,
    epilog="JSON: campaign, n, and events (event, at, who, kind, what) or, with -o, output.",
)
def history(
    last: Annotated[int | None, option("--last", "-n", min=1, help="Only the last so many events.")] = None,
    out: options.Output = None,
    force: options.Force = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Everything that has happened, one line an event."""
    output.check_writable(out, form, force=force)
    with open_campaign(storage, name) as campaign:
        table = Table.from_columns(campaign.history(frame="columns"))
        if last is not None:
            table = Table(table.names, [column[-last:] for column in table.columns])
        document = {"campaign": campaign.name, "n": table.n}
        output.deliver(
            table,
            out,
            form,
            force=force,
            as_json=as_json,
            document=document,
            key="events",
            title=campaign.name,
        )

"""`version` and `demo`."""

from __future__ import annotations

import typer

from maxentry.cli import options, output

PANEL = "About"


def version(as_json: options.Json = False) -> None:
    """Say which version this is, and of what it stands on."""
    import platform
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    from maxentry import __version__

    versions = {"maxentry": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "numba", "sqlalchemy", "pandas", "polars", "pyarrow", "psycopg"):
        try:
            versions[name] = version_of(name)
        except PackageNotFoundError:
            continue
    if as_json:
        output.print_json({"version": __version__, "packages": versions})
    else:
        print(f"maxentry {__version__}")
        output.say(", ".join(f"{name} {v}" for name, v in list(versions.items())[1:]), "dim")


def demo() -> None:
    """Complete the paper's simulated matrix and compare with the truth; writes demo.png."""
    from maxentry import demo as demonstration

    demonstration.main()


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    app.command(rich_help_panel=PANEL, epilog="JSON: version, packages.")(version)
    app.command(rich_help_panel=PANEL)(demo)

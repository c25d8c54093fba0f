"""The command `maxentry`: its commands together, and how every one of them ends."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from maxentry.cli import (
    about,
    amend,
    change,
    codes,
    compare,
    create,
    look,
    loop,
    oneshot,
    report,
    results,
    serve,
)
from maxentry.errors import MaxentryError, NothingToAskError

# Typer has had Click within itself since some version: reach Click's classes by way of one it always had.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in codes.MEANING.items()) + "."


class Interrupted(Exception):
    """Ctrl-C, which Click would end without a word."""


class Commands(TyperGroup):
    """The group of commands; turns every error into one sentence and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; unless `standalone_mode` is off, exit with its code."""
        given = sys.argv[1:] if args is None else list(args)
        code = _ended(
            lambda: super(Commands, self).main(
                args, prog_name or "maxentry", complete_var, False, windows_expand_args, **extra
            ),
            as_json="--json" in given,
        )
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what Click would end in its own way is ended here."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _close(sys.stdout)
            raise typer.Exit(codes.NO_READER) from None
        except KeyboardInterrupt:
            raise Interrupted("interrupted.") from None


def _ended(command: Any, *, as_json: bool) -> int:
    """Run; the exit code, after one sentence on stderr (with --json: one document on stdout) if it failed."""
    try:
        code = command()
        return code if isinstance(code, int) else codes.DONE
    except UsageError as error:
        return _usage(error, as_json)
    except NothingToAskError as error:
        return _failed(error, str(error), codes.NOTHING_LEFT, as_json)
    except MaxentryError as error:
        return _failed(error, str(error), codes.REFUSED, as_json)
    except Interrupted as error:
        return _failed(error, str(error), codes.INTERRUPTED, as_json)
    except UnicodeEncodeError as error:
        text = f"expected an output that holds {error.object[error.start]!a}, but its encoding is {error.encoding}"
        return _failed(
            error, f"{text}: PYTHONUTF8=1 in the environment makes it UTF-8.", codes.REFUSED, as_json
        )
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        return _failed(error, f"the system refused{name}: {error.strerror or error}.", codes.REFUSED, as_json)
    except (typer.Abort, EOFError):
        return codes.REFUSED
    except Exception as error:
        text = (
            f"unexpected {type(error).__name__}: {error}. This is a mistake in maxentry; "
            "MAXENTRY_DEBUG=1 in the environment shows where."
        )
        return _failed(error, text, codes.BUG, as_json)


def _usage(error: Any, as_json: bool) -> int:
    if error.ctx is not None and not as_json:
        if type(error).__name__ == "NoArgsIsHelpError":
            return codes.USAGE  # the help has been printed
        sys.stderr.write(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n")
    text = re.sub(r"Input should be a valid (\w+).*", _expected, error.format_message())
    return _report("UsageError", text, codes.USAGE, as_json)


def _expected(found: re.Match[str]) -> str:
    """What an option wants, in our words."""
    kind = {"integer": "a whole number", "number": "a number"}.get(found[1], f"a {found[1]}")
    return f"expected {kind}, but something else came."


def _failed(error: BaseException, text: str, code: int, as_json: bool) -> int:
    if os.environ.get("MAXENTRY_DEBUG", "") not in ("", "0"):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    return _report(type(error).__name__, text, code, as_json)


def _report(kind: str, text: str, code: int, as_json: bool) -> int:
    from maxentry.cli.output import print_json, say, spoken

    text = spoken(text)
    try:
        sys.stdout.flush()
        if as_json:
            print_json({"error": {"kind": kind, "message": text, "code": code}})
            return code
    except OSError:  # a full disk, say: what cannot be written there is said on stderr
        _close(sys.stdout)
    try:
        say(_capitalize(text), "bold red")
    except OSError:  # nobody is left to tell; the code remains
        _close(sys.stderr)
    return code


def _capitalize(sentence: str) -> str:
    """Begin a sentence with a capital, unless it begins with a file's name or a label."""
    first = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if first.rstrip(".,:;").isalpha() else sentence


def _close(stream: TextIO) -> None:
    """Let what is written from now on go nowhere, as Python flushes its streams once more when it ends."""
    with contextlib.suppress(OSError):  # a stream in memory, in tests, is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = typer.Typer(
    name="maxentry",
    cls=Commands,
    help="Which entries of a matrix to measure next, and the whole matrix with uncertainty you can trust.\n\n"
    "The lab loop: maxentry ask 24 -o plate.csv, fill in the column value, maxentry tell plate.csv.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (create, change, loop, amend, look, results, report, oneshot, compare, serve, about):
    part.add(app)


def _version(wanted: bool) -> None:
    if wanted:
        about.version()
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """The options of no command in particular."""


def run() -> None:
    """The entry point of `maxentry`."""
    app()

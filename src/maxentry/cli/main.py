"""The command `maxentry`: all commands, how each of them ends, and those of the program: `serve`, `version`, `demo`."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from maxentry.cli import ask_tell, campaign, compare, complete, options, output, storage
from maxentry.cli.options import option
from maxentry.cli.output import EXIT_CODES, ExitCode
from maxentry.errors import MaxentryError, NothingToAskError, refusal

# Typer has had Click within itself since some version: reach Click's classes by way of one it always had.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
CHOICE = re.compile(r"(?<=: )(?:Value error, )?(.+) is not one of (.+)\.$")  # as Typer says it

WRONG_KIND = re.compile(r"('.*') is not a valid (integer|float)(?: range)?\.$")  # as Click says it
KINDS = {"integer": "whole number", "float": "number"}

TOKENS = "MAXENTRY_READ_TOKEN", "MAXENTRY_WRITE_TOKEN"
EPILOG = "Exit codes: " + "; ".join(f"{code:d} {meaning}" for code, meaning in EXIT_CODES.items()) + "."


class Interrupted(Exception):
    """Ctrl-C, which Click would not report. details: what the command adds to the JSON document."""

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        super().__init__(str(interrupt) or "interrupted.")
        self.details = vars(interrupt)


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
        code = _run(
            lambda: super(Commands, self).main(
                args, prog_name or "maxentry", complete_var, False, windows_expand_args, **extra
            ),
            as_json="--json" in given,
        )
        if standalone_mode:
            sys.exit(int(code))
        return int(code)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; end a closed pipe and Ctrl-C in our own way, not in Click's."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _discard(sys.stdout)
            raise typer.Exit(ExitCode.PIPE_CLOSED) from None
        except KeyboardInterrupt as interrupt:
            raise Interrupted(interrupt) from None


def _run(command: Any, *, as_json: bool) -> int:
    """Run a command and return its exit code; report an error in one sentence on stderr, or as JSON on stdout."""
    try:
        code = command()
        return code if isinstance(code, int) else ExitCode.DONE
    except UsageError as error:
        return _report_usage(error, as_json)
    except MaxentryError as error:
        code = ExitCode.NOTHING_LEFT if isinstance(error, NothingToAskError) else ExitCode.REFUSED
        return _report_error(error, output.describe_error(error), code, as_json)
    except Interrupted as error:
        return _report_error(error, str(error), ExitCode.INTERRUPTED, as_json, **error.details)
    except UnicodeEncodeError as error:
        text = (
            f"the output's encoding, {error.encoding}, has no {error.object[error.start]!a}. Set PYTHONUTF8=1 in the "
            "environment for UTF-8."
        )
        return _report_error(error, text, ExitCode.REFUSED, as_json)
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        text = f"system error{name}: {error.strerror or error}."
        return _report_error(error, text, ExitCode.REFUSED, as_json)
    except (typer.Abort, EOFError):
        return ExitCode.REFUSED
    except Exception as error:
        text = (
            f"unexpected {type(error).__name__}: {error}. This is a bug in maxentry. Please report it with this "
            "text; MAXENTRY_DEBUG=1 in the environment adds where it happened."
        )
        return _report_error(error, text, ExitCode.BUG, as_json)


def _report_usage(error: Any, as_json: bool) -> int:
    if error.ctx is not None and not as_json:
        if type(error).__name__ == "NoArgsIsHelpError":
            return ExitCode.USAGE  # the help has been printed
        sys.stderr.write(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n")
    error.message = _explain_value(error)
    text = _explain_option(error) or CHOICE.sub(r"expected one of \2, got \1.", error.format_message())
    return _report("UsageError", text, ExitCode.USAGE, as_json)


def _explain_option(error: Any) -> str:
    """Say why `set` has no option for a setting that there is; empty for other errors."""
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    if name not in options.SETTINGS or error.ctx is None or error.ctx.command.name != "set":
        return ""
    flag = f"--{name.replace('_', '-')}"
    return (
        f"{flag} is fixed when a campaign begins, since what was told or asked for depends on it. Begin another with "
        f"the same values: maxentry export -o values.csv, then maxentry new NAME --from values.csv {flag} …"
    )


def _explain_value(error: Any) -> str:
    """Say in plain words what is wrong with a number on the command line, whichever library found it."""
    problems: list[Any] = getattr(error.__cause__, "errors", list)()  # of pydantic
    if not problems:
        return WRONG_KIND.sub(lambda found: f"{found[1]} is not a {KINDS[found[2]]}.", error.message)
    problem = problems[0]
    kind, got, limits = problem["type"], problem["input"], problem.get("ctx", {})
    if kind in ("int_parsing", "int_from_float", "float_parsing"):
        return f"{got!r} is not a {'number' if kind == 'float_parsing' else 'whole number'}."
    bounds = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    wanted = next((f"{words} {limits[key]}" for key, words in bounds.items() if key in limits), None)
    return str(error.message) if wanted is None else f"expected {wanted}, got {got}."


def _report_error(error: Exception, text: str, code: int, as_json: bool, **details: Any) -> int:
    if output.is_debugging():
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    return _report(type(error).__name__, text, code, as_json, **details)


def _report(kind: str, text: str, code: int, as_json: bool, **details: Any) -> int:
    text = refusal(text)
    try:
        sys.stdout.flush()
        if as_json:
            output.print_json({"error": {"kind": kind, "message": text, "code": code, **details}})
            return code
    except OSError:  # a full disk, say; stderr may still work
        _discard(sys.stdout)
    try:
        output.say(_capitalize(text), "bold red")
    except OSError:  # the exit code still tells
        _discard(sys.stderr)
    return code


def _capitalize(sentence: str) -> str:
    """Begin a sentence with a capital, unless it begins with a file's name or a label."""
    first = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if first.rstrip(".,:;").isalpha() else sentence


def _discard(stream: TextIO) -> None:
    """Discard further output, since Python flushes its streams once more at exit."""
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
about = typer.Typer()
for part in (campaign, ask_tell, complete, compare, storage):
    app.add_typer(part.commands)
app.add_typer(about)


@about.command(
    rich_help_panel="Server",
    epilog="The API is described at /api/v1/openapi.json. From Python: maxentry.connect('http://127.0.0.1:8765').",
)
def serve(
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any but 127.0.0.1 needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0: any that is free.")
    ] = 8765,
    read_token: Annotated[
        str | None,
        option("--read-token-file", metavar="FILE", help=f"Holds the token for reading; or {TOKENS[0]}."),
    ] = None,
    write_token: Annotated[
        str | None,
        option("--write-token-file", metavar="FILE", help=f"Holds the token for writing; or {TOKENS[1]}."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host", metavar="NAME", help="A further name by which this machine is called."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        option(
            "--proxy",
            metavar="ADDRESS",
            help="The IP address of a reverse proxy, whose X-Forwarded-For says who the client is.",
        ),
    ] = None,
    certificate: Annotated[
        str | None, option("--tls-certificate", metavar="FILE", help="Speak HTTPS, with this certificate …")
    ] = None,
    certificate_key: Annotated[str | None, option("--tls-key", metavar="FILE", help="… and its key.")] = None,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="MiB of a request at most; larger ones are refused.")
    ] = 16,
    rate: Annotated[
        float, typer.Option("--rate", min=0, help="Requests a second of one client; 0: any number.")
    ] = 50.0,
    max_entries: Annotated[
        int, typer.Option("--max-entries", min=4, help="Entries of the largest matrix that may be begun.")
    ] = 25_000_000,
    max_labels: Annotated[
        int, typer.Option("--max-labels", min=4, help="Rows and columns together of the largest matrix.")
    ] = 1_000_000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Fits at the same time.")] = 2,
    storage: options.Storage = options.STORAGE,
) -> None:
    """Serve the campaigns of a storage: a dashboard for browsers, REST for instruments, `maxentry.connect` for Python.

    The dashboard (maps, batches, values) is at the address itself, http://127.0.0.1:8765 if nothing else is said. Only
    this machine can reach it, unless --host says otherwise; then tokens are needed. Ctrl-C ends it.
    """
    from maxentry.errors import MissingDependencyError, ParameterError
    from maxentry.server.options import Options, ServerLimits, Tokens

    if (certificate is None) != (certificate_key is None):
        raise ParameterError("expected a TLS certificate together with its key, got only one of them.")
    given = Options(
        host=host,
        port=port,
        tokens=Tokens(_token(read_token, TOKENS[0]), _token(write_token, TOKENS[1])),
        limits=ServerLimits(
            body=max_body * 2**20, rate=rate, entries=max_entries, labels=max_labels, workers=workers
        ),
        hosts=tuple(allow_host or ()),
        proxies=tuple(proxy or ()),
        certificate=None if certificate is None else (certificate, certificate_key or ""),
    )
    if not given.local and certificate is None:
        output.warn(
            "Tokens and data go over the network as they are: use --tls-certificate, or a proxy that does."
        )
    try:
        from maxentry.server.app import serve as run
    except ImportError as error:
        raise MissingDependencyError(
            f"the server needs {error.name}: pip install 'maxentry[server]'."
        ) from None
    run(storage, given, announce=lambda address: output.say(f"maxentry at {address}; Ctrl-C ends it."))


def _token(file: str | None, variable: str) -> str | None:
    """The token in the file, else in the environment. Never on the command line, which others can see."""
    from maxentry.server.options import read_token

    return read_token(file) if file is not None else os.environ.get(variable) or None


@about.command(rich_help_panel="About", epilog="JSON: version, packages.")
def version(as_json: options.Json = False) -> None:
    """Show the versions of maxentry and its dependencies."""
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


@about.command(rich_help_panel="About")
def demo(force: options.Force = False) -> None:
    """Complete the paper's simulated matrix and compare with the truth; writes demo.png."""
    from maxentry import demo as demonstration

    output.check_writable(str(demonstration.PICTURE), force=force)
    demonstration.main()


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which version this is."),
    ] = False,
) -> None:
    """The options of no command in particular."""


def run() -> None:
    """The entry point of `maxentry`."""
    app()

"""How commands end: exit codes, one sentence, no traceback for a user's mistake."""

import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.run import COMMAND, answer, check_quiet, good, process, refused, run

from maxentry import Posterior, tables
from maxentry.cli.output import EXIT_CODES, ExitCode
from maxentry.errors import DataError

COMMANDS = (
    "new", "ask", "tell", "fail", "withdraw", "correct", "status", "history", "posterior", "export", "complete",
    "design", "demo", "version", "list", "add-rows", "add-cols", "set",
)  # fmt: skip


def test_the_codes_are_documented_in_the_help() -> None:
    shown = " ".join(good("--help").stdout.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in shown
    assert set(EXIT_CODES) == set(ExitCode)


def test_every_command_of_the_issue_is_there_and_has_help() -> None:
    shown = good("--help").stdout
    for name in COMMANDS:
        assert f" {name} " in shown
        assert "Usage: maxentry " + name in good(name, "--help").stdout
        assert good(name, "-h").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [["no-such"], ["ask", "--no-such"], ["ask", "many"], ["ask", "0"], ["design", "3x3"], ["version", "extra"],
     ["tell"], ["fail"], ["withdraw"], ["withdraw", "1", "--all"], ["correct", "--id", "1"],
     ["correct", "2", "--id", "1", "--strike"], ["correct", "2"], ["correct", "2", "--row", "A"],
     ["tell", "--row", "A", "--value", "1"], ["tell", "--id", "1", "--row", "A", "--col", "x", "--value", "1"],
     ["new", "x"], ["new", "x", "--shape", "3by4"], ["new", "x", "--shape", "3x4", "--row", "A"],
     ["new", "x", "--shape", "3x4", "--range", "1-2"], ["new", "x", "--shape", "3x4", "--lease", "soon"],
     ["new", "x", "--shape", "3x4", "--rank", "low"], ["complete", "x.csv", "--what", "median"]],
)  # fmt: skip
def test_wrong_usage(words: list[str]) -> None:
    said = refused(*words, code=ExitCode.USAGE)
    assert said.startswith("Usage: maxentry")
    assert "--help' for help." in said
    as_json = run(*words, "--json")
    assert as_json.exit_code == ExitCode.USAGE
    assert json.loads(as_json.stdout)["error"]["code"] == ExitCode.USAGE
    assert not Path("maxentry.db").exists()


def test_no_command_shows_the_help() -> None:
    result = run()
    assert result.exit_code == ExitCode.USAGE
    assert "Usage: maxentry [OPTIONS] COMMAND" in result.stdout + result.stderr


def test_a_users_mistake_is_one_sentence() -> None:
    said = refused("complete", "no.csv")
    assert said == "no.csv does not exist."


def test_a_users_mistake_as_json_is_one_document() -> None:
    result = run("complete", "no.csv", "--json")
    assert result.exit_code == ExitCode.REFUSED
    error = {"kind": "DataError", "message": "no.csv does not exist.", "code": 1}
    assert json.loads(result.stdout) == {"error": error}
    assert result.stderr == ""


def test_debugging_shows_the_traceback() -> None:
    result = run("complete", "no.csv", env={"MAXENTRY_DEBUG": "1"})
    assert result.exit_code == ExitCode.REFUSED
    assert "Traceback (most recent call last)" in result.stderr
    assert "Traceback" not in run("complete", "no.csv", env={"MAXENTRY_DEBUG": "0"}).stderr


def test_our_own_mistake_says_so_and_how_to_see_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(tables, "read", broken)
    sentence = (
        "nexpected ZeroDivisionError: by zero. This is a bug in maxentry. Please report it with this text; "
        "MAXENTRY_DEBUG=1 in the environment adds where it happened."
    )
    assert refused("complete", "x.csv", code=ExitCode.BUG) == "U" + sentence
    as_json = json.loads(run("complete", "x.csv", "--json").stdout)
    assert as_json == {
        "error": {"kind": "ZeroDivisionError", "message": "u" + sentence, "code": ExitCode.BUG}
    }
    assert "Traceback" in run("complete", "x.csv", env={"MAXENTRY_DEBUG": "1"}).stderr


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt, ExitCode.INTERRUPTED), (BrokenPipeError, ExitCode.PIPE_CLOSED)]
)
def test_an_interrupt_and_a_closed_pipe_have_codes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int
) -> None:
    def end(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(tables, "read", end)
    result = run("complete", "x.csv")
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.strip() == ("Interrupted." if error is KeyboardInterrupt else "")


def test_the_entry_point_ends_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, code in ((["version"], 0), (["complete", "no.csv"], ExitCode.REFUSED)):
        monkeypatch.setattr(sys, "argv", ["maxentry", *words])
        with pytest.raises(SystemExit) as end:
            runpy.run_module("maxentry", run_name="__main__")
        assert (end.value.code or 0) == code


@pytest.mark.process
def test_a_reader_that_goes_away_is_no_error() -> None:
    words = " ".join([*COMMAND, "design", "300x300", "80000", "--seed", "1"])
    shell = f"{words} | head -n 1; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=250, check=False)
    assert result.stdout.split() == ["row,col,value", str(ExitCode.PIPE_CLOSED)]
    check_quiet(result.stderr)


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words", [["ask", "1"], ["ask", "1", "--json"], ["status", "--fast", "--json"], ["list"]]
)
def test_an_output_that_cannot_be_written_is_said_on_stderr(words: list[str]) -> None:
    good("new", "lab", "--shape", "3x3")
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=250, check=False
        )
        silent = subprocess.run([*COMMAND, *words], stdout=full, stderr=full, timeout=250, check=False)
    assert result.returncode == silent.returncode == ExitCode.REFUSED
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
    assert result.stderr.splitlines()[-1] == "System error: No space left on device."


@pytest.mark.process
def test_an_output_that_cannot_hold_a_label_says_what_to_do() -> None:
    good("new", "lab", "--row", "α", "--row", "b", "--col", "x", "--col", "y")
    result = process("ask", 4, "--json", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert result.returncode == ExitCode.REFUSED
    assert (
        "encoding, ascii, has no '\\u03b1'. Set PYTHONUTF8=1" in json.loads(result.stdout)["error"]["message"]
    )


WAITING = """
import signal, sys, time
from maxentry import tables
from maxentry.cli import main
def wait(*_, **__):
    print("ready", flush=True)
    time.sleep(600)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born deaf to it
tables.read = wait
sys.argv = ["maxentry", "complete", "x.csv", *sys.argv[1:]]
main.run()
"""


@pytest.mark.process
@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupt_ends_with_130_and_a_word(as_json: bool) -> None:
    command = [sys.executable, "-c", WAITING, *(["--json"] if as_json else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as working:
        assert working.stdout is not None
        assert working.stdout.readline() == "ready\n"
        working.send_signal(signal.SIGINT)
        answered, said = working.communicate(timeout=250)
    assert working.returncode == ExitCode.INTERRUPTED
    if as_json:
        assert json.loads(answered)["error"]["code"] == ExitCode.INTERRUPTED
    else:
        assert (answered, said.splitlines()[-1]) == ("", "Interrupted.")
        check_quiet(said)


@pytest.mark.process
def test_version() -> None:
    import maxentry

    assert good("version").stdout.strip() == f"maxentry {maxentry.__version__}"
    found = answer("version")
    assert found["version"] == found["packages"]["maxentry"] == maxentry.__version__
    assert "numpy" in found["packages"]
    assert process("version").stdout.decode().strip() == f"maxentry {maxentry.__version__}"


def test_the_demo_is_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    from maxentry import demo

    monkeypatch.setattr(demo, "main", lambda: print("shown"))
    assert good("demo").stdout == "shown\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_a_device_without_an_end_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused("complete", "/dev/zero") == "Expected a file, got the device /dev/zero."
    assert "got a device or a pipe" in refused("status", "-s", "/dev/zero")
    assert "got the device /dev/zero" in refused("serve", "--write-token-file", "/dev/zero")
    os.mkfifo("pipe")
    assert "got a device or a pipe" in refused("status", "-s", "pipe")
    store = Path("store")
    store.mkdir()
    (store / "posterior.npz").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"it is no \.npz file"):
        Posterior.load(store)


@pytest.mark.parametrize("name", ["\0", "a\0b", "\ud800"])
def test_what_no_file_can_be_called_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "name of a file to write" in refused("design", "3x4", "2", "-o", name)
    good("new", "x", "--row", "a", "--row", "b", "--col", "c", "--col", "d")
    assert "expected a file in a folder that exists" in refused("backup", name).lower()
    Path("x.csv").write_text("row,col,value\n" + "".join(f"r{k % 4},c{k // 4},{k}\n" for k in range(16)))
    assert "name of a folder" in refused("compare", "x.csv", "--quick", "-o", name)
    assert "expected a token" in refused("serve", "--write-token-file", name).lower()
    assert "TLS certificate" in refused("serve", "--tls-certificate", name, "--tls-key", "x")

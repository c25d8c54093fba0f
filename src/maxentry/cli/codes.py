"""How the command line ends: its exit codes."""

DONE = 0
REFUSED = 1
USAGE = 2
NOTHING_LEFT = 3
BUG = 70
INTERRUPTED = 130
NO_READER = 141

MEANING = {
    DONE: "done",
    REFUSED: "refused, with a sentence that says what was expected and what came; nothing was changed "
    "(a study keeps the runs that succeeded)",
    USAGE: "no such command or option, or options that do not go together",
    NOTHING_LEFT: "nothing left to ask: all is measured or pending, or the campaign has reached its end",
    BUG: "a mistake in maxentry itself",
    INTERRUPTED: "interrupted (Ctrl-C)",
    NO_READER: "whoever read the output went away",
}

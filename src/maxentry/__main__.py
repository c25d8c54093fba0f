"""`python -m maxentry` is the same as `maxentry`."""

from maxentry.cli.main import run

if __name__ == "__main__":
    run()

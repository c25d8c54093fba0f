"""The command line: `maxentry new`, `ask`, `tell` and what goes with them."""

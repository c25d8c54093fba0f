"""The client of a maxentry server."""

"""The routes of the REST interface, by subject."""

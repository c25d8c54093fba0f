"""Asks and measurements in columns, and how events change them."""

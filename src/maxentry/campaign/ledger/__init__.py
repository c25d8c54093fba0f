"""Asks and measurements in columns, and snapshots of them."""

"""Checks of what is released: wheel and sdist, versions of dependencies, their licences. Not part of the wheel."""

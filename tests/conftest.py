"""Property tests draw the same examples every time; MAXENTRY_HYPOTHESIS=search looks for new ones, and for long."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("MAXENTRY_HYPOTHESIS", "same"))

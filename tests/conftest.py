from __future__ import annotations

from hypothesis import settings

# A slow machine must not fail a test: no example has a deadline.
settings.register_profile("project", deadline=None, print_blob=True, max_examples=200)
settings.load_profile("project")

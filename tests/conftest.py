"""What all tests share: no test depends on how fast the machine is."""

import os

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.register_profile("few", deadline=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))

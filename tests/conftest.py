"""Settings for all tests."""

from hypothesis import settings

# The same examples each time: a run says something about the change it is made for.
settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.load_profile("steady")

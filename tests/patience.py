"""How long tests wait for what must happen.

A wait returns as soon as it happens. Only what is broken takes the whole time, however
busy the machine is.
"""

PATIENCE = 60.0  # seconds; less than the time limit of a test

"""Time limit for waits in tests.

A wait returns as soon as its condition holds. Only a broken test takes the whole time,
however busy the machine is.
"""

PATIENCE = 60.0  # seconds; less than the time limit of a test

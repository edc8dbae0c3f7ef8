"""forewarn gives every machine in a fleet fair warning before it is touched."""

__version__ = "0.1.0"

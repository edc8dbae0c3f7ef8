"""Composition root: builds a running system from a configuration.

Concrete classes are chosen only here.
"""

from forewarn.compose.system import System

__all__ = ["System"]

"""From a configuration to a running system; only here are concrete classes named."""

from forewarn.compose.system import System

__all__ = ["System"]

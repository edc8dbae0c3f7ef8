"""Notifiers: deliver facts to other systems."""

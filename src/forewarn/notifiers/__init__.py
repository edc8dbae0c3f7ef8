"""Notifiers: delivery of facts to other systems."""

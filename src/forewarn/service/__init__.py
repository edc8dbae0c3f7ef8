"""The running service: the only place that names and connects concrete classes."""

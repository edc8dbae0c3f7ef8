"""The service's Prometheus metrics."""

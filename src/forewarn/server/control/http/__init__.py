"""The control plane's HTTP server: connections, limits, TLS and origins."""

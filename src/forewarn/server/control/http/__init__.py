"""HTTP server of the control plane: connections, limits, TLS, origins."""

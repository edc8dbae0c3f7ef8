"""The HTTP server: the metadata plane for VMs, the control plane for operators."""

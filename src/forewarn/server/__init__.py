"""The HTTP server: the metadata plane for VMs and the control plane for operators."""

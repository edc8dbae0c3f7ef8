"""The HTTP side: the metadata plane for VMs, the control plane for operators."""

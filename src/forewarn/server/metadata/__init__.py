"""Metadata plane: serves /metadata to VMs."""

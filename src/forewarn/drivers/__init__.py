"""What acts on real VMs."""

"""In the VM: asks a metadata service; standard library only."""

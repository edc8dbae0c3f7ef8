"""Authentication and authorization for the control plane."""

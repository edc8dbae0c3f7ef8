"""Authentication and authorization of the control plane."""

"""The Azure Resource Manager API, /subscriptions/..., for Azure SDKs."""

"""The dialect of Azure Resource Manager, /subscriptions/..., for its SDKs."""

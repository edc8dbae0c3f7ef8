"""In-VM client for a metadata service, using only the standard library."""

from forewarn.client.changes import Change
from forewarn.client.client import Client
from forewarn.client.responses import Instance, Reading

__all__ = ["Change", "Client", "Instance", "Reading"]

"""In-VM client of a metadata service, built on the standard library only."""

from forewarn.client.changes import Change
from forewarn.client.client import Client
from forewarn.client.responses import Instance, Reading

__all__ = ["Change", "Client", "Instance", "Reading"]

"""In-VM client of a metadata service, built on the standard library only."""

from forewarn.client.client import Client
from forewarn.client.instance import Instance
from forewarn.client.reading import Reading
from forewarn.client.watch import Change

__all__ = ["Change", "Client", "Instance", "Reading"]

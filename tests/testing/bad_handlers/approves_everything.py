"""Approves whatever it sees, also what is its neighbours'."""

from tests.testing.bad_handlers.asking import approve, documents

for found in documents():
    for event in found["Events"]:
        approve(event)

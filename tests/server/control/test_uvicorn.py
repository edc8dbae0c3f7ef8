"""Names of uvicorn that the control plane builds on, although they are not public."""

import re
from importlib.metadata import requires, version
from inspect import getsource, signature

import pytest
import uvicorn
from packaging.requirements import Requirement
from uvicorn.protocols.http.httptools_impl import (
    HttpToolsProtocol,
    RequestResponseCycle,
)

REMEDY = (
    f"uvicorn {version('uvicorn')} has changed: adapt server/control/http, or limit"
    " its versions in pyproject.toml"
)

#: Overridden or called by `ControlConnection`.
METHODS = (
    "_unset_keepalive_if_required",
    "connection_lost",
    "connection_made",
    "data_received",
    "on_body",
    "on_header",
    "on_headers_complete",
    "on_message_begin",
    "on_message_complete",
    "on_response_complete",
    "on_url",
    "pause_writing",
    "resume_writing",
    "send_400_response",
    "shutdown",
)
#: Set in the constructor of the protocol.
ATTRIBUTES = ("client", "cycle", "flow", "loop", "parser", "pipeline", "tasks")
#: Set in the constructor of a request's cycle.
CYCLE_ATTRIBUTES = (
    "body",
    "disconnected",
    "keep_alive",
    "message_event",
    "response_complete",
    "response_started",
    "scope",
)


def test_the_version_is_one_that_was_tried() -> None:
    ranges = [Requirement(text) for text in requires("forewarn") or ()]
    (ours,) = [needed for needed in ranges if needed.name == "uvicorn"]
    assert re.search(r"<\d", str(ours.specifier)), "the range has no upper end"
    assert version("uvicorn") in ours.specifier, REMEDY


@pytest.mark.parametrize("name", METHODS)
def test_the_protocol_has_the_methods(name: str) -> None:
    assert callable(getattr(HttpToolsProtocol, name, None)), REMEDY


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_the_protocol_sets_the_attributes(name: str) -> None:
    constructor = getsource(HttpToolsProtocol.__init__)
    assert re.search(rf"self\.{name}\b[^=\n]*=", constructor), REMEDY


@pytest.mark.parametrize("name", CYCLE_ATTRIBUTES)
def test_the_cycle_sets_the_attributes(name: str) -> None:
    constructor = getsource(RequestResponseCycle.__init__)
    assert re.search(rf"self\.{name}\b[^=\n]*=", constructor), REMEDY


def test_a_connection_can_be_created_for_a_server() -> None:
    names = signature(HttpToolsProtocol.__init__).parameters
    assert {"config", "server_state", "app_state"} <= {*names}, REMEDY


@pytest.mark.parametrize(
    "name", ["capture_signals", "main_loop", "shutdown", "startup"]
)
def test_the_server_can_be_started_in_parts(name: str) -> None:
    assert callable(getattr(uvicorn.Server, name, None)), REMEDY

"""Workload of a trial: operators, VMs that poll, and a webhook receiver.

1. Each client draws its commands from its own seed. What it draws from, such as live
   events, depends on the run.
2. Every request is recorded, whatever its outcome.
3. The number of live maintenance operations stays bounded: beyond it, clients only end
   or cancel what there is, and a caretaker retries stuck work.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from benchmarks.fleet import FleetVm
from benchmarks.http_connection import KeepAliveConnection, ReceivedResponse
from tests.faults.history import Delivery, History, Operation, Outcome, Poll, now
from tests.faults.judge import VERSIONS
from tests.server.support.service import TOKEN

#: Live maintenance operations beyond which nothing new is announced.
MOST_LIVE = 30

NEWEST = VERSIONS[-1]

_WAIT = 2  # seconds of a long poll
_ATTEMPTS = 12  # of a command with an Idempotency-Key
_KEYED = 0.6  # share of commands with an Idempotency-Key
_REPEATED = 0.1  # share of commands that repeat an earlier one with its key
_REFUSED = 0.1  # share of webhook messages
_OPERATOR = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
_ERRORS = (OSError, EOFError, ValueError)  # including timeouts
#: Seconds of notice that each type needs at least.
_NOTICE = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30}

TYPES = (*_NOTICE, "Terminate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A request that a client is about to send."""

    kind: str
    target: str
    method: str = "POST"
    path: str
    body: Mapping[str, Any] | None = None
    vm: str | None = None  # the VM that approves


@dataclass(slots=True, kw_only=True)
class World:
    """What all clients of a trial share."""

    metadata: str  # host and port
    control: str
    machines: Sequence[FleetVm]
    hosts: Sequence[str]
    history: History = field(default_factory=History)
    live: Sequence[Any] = ()  # maintenance, as last read
    shown: dict[str, Sequence[Any]] = field(default_factory=dict)  # events by VM
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    #: Equal texts are kept once: there are few documents, and many polls.
    texts: dict[bytes, bytes] = field(default_factory=dict)

    def has_done_since(self, at: float) -> bool:
        """Whether a command that was sent after `at` was done."""
        return any(
            operation.invoked > at and operation.outcome is Outcome.OK
            for operation in self.history.operations[-200:]
        )

    async def pause(self, seconds: float) -> None:
        """Wait until the time or the trial is over."""
        try:
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        except TimeoutError:
            return


# --- operators ---------------------------------------------------------------


class Operator:
    """Client that sends commands, one after the other."""

    def __init__(self, world: World, name: str, seed: str, pause: float) -> None:
        """Send a command about every `pause` seconds, drawn from `seed`."""
        self._world = world
        self._name = name
        self._random = Random(f"{seed}/{name}")
        self._pause = pause
        self._count = 0
        self._token = ""
        self._sent: list[tuple[str, Command]] = []  # with their keys, the last few
        self._control = KeepAliveConnection(world.control)
        self._metadata = KeepAliveConnection(world.metadata)

    async def work(self) -> None:
        """Send commands until the trial is over."""
        while not self._world.ended.is_set():
            if self._sent and self._random.random() < _REPEATED:
                self._token, command = self._random.choice(self._sent)
                await self._send(command, self._token)
            else:
                await self._send_new()
            await self._world.pause(self._random.uniform(0, 2 * self._pause))
        self._control.close()
        self._metadata.close()

    # --- drawing -------------------------------------------------------------

    def _draw(self) -> Command | None:
        choices = [*_ENDING] if len(self._world.live) > MOST_LIVE else [*_WEIGHTS]
        weights = [_WEIGHTS[draw] for draw in choices]
        return self._random.choices(choices, weights)[0](self)

    def _announce(self) -> Command:
        world, random = self._world, self._random
        kind = random.choice(TYPES)
        machine = random.choice(world.machines)
        body: dict[str, Any] = {"type": kind, "description": self._token}
        if random.random() < 0.2:
            body["group"] = machine.group
        elif kind in ("Freeze", "Reboot", "Redeploy") and random.random() < 0.3:
            body["host"] = machine.host
        else:
            body["vms"] = [machine.name]
        if kind == "Freeze":
            body["duration_seconds"] = random.randint(1, 60)
        chance = random.random()
        if chance < 0.15:
            body |= {"emergency": True, "reason": f"because of {self._token}"}
            body |= {"notice_seconds": random.randint(1, 300)} if chance < 0.1 else {}
        elif chance < 0.3:  # sometimes too short, and so refused
            body["notice_seconds"] = int(
                _NOTICE.get(kind, 300) * random.uniform(0.8, 2)
            )
        return Command(
            kind="announce",
            target=body.get("host") or machine.name,
            path="/v1/maintenances",
            body=body,
        )

    def _approve_as_vm(self) -> Command | None:
        machine = self._random.choice(self._world.machines)
        events = self._world.shown.get(machine.name, ())
        if not events:
            return None
        event = self._random.choice(events)["EventId"]
        return Command(
            kind="approve-as-vm",
            target=event,
            path=_events(machine.name, NEWEST),
            body={"StartRequests": [{"EventId": event}]},
            vm=machine.name,
        )

    def _approve(self) -> Command | None:
        if not self._world.live:
            return None
        event = self._random.choice(self._random.choice(self._world.live)["events"])
        path = f"/v1/events/{event['id']}/approve"
        return Command(kind="approve", target=event["id"], path=path)

    def _end(self) -> Command | None:
        if not self._world.live:
            return None
        item = self._random.choice(self._world.live)
        if item["phase"] == "SCHEDULED":
            kind = "cancel"
        elif item["stuck_since"] is not None:
            kind = self._random.choice(("retry", "close"))
        else:
            kind = "complete"
        reason = {"reason": self._token} if kind in ("cancel", "close") else None
        path = f"/v1/maintenances/{item['id']}/{kind}"
        return Command(kind=kind, target=item["id"], path=path, body=reason)

    def _operate(self) -> Command:
        name = self._random.choice(self._world.machines).name
        kinds = ("restart", "redeploy", "reimage", "evict", "start")
        kind = self._random.choice(kinds)
        body = {"description": self._token} if kind != "start" else None
        return Command(kind=kind, target=name, path=f"/v1/vms/{name}/{kind}", body=body)

    def _on_host(self) -> Command:
        kinds = ("maintain", "degraded", "failed", "recovered", "recovered")
        name, kind = self._random.choice(self._world.hosts), self._random.choice(kinds)
        body = {"description": self._token} if kind != "recovered" else {}
        path = f"/v1/hosts/{name}/{kind}"
        return Command(kind=kind, target=name, path=path, body=body)

    def _change_fleet(self) -> Command:
        """Add, remove or delete a VM that nobody polls."""
        name = f"extra-{self._name}"
        chance, path = self._random.random(), f"/v1/vms/{name}"
        if chance < 0.5:
            group = self._world.machines[0].group
            body = {"group": group, "update_domain": 0, "tags": {"token": self._token}}
            return Command(
                kind="put-vm", target=name, method="PUT", path=path, body=body
            )
        if chance < 0.8:
            return Command(kind="remove-vm", target=name, method="DELETE", path=path)
        body = {"description": self._token}
        return Command(kind="delete-vm", target=name, path=f"{path}/delete", body=body)

    # --- sending -------------------------------------------------------------

    async def _send_new(self) -> None:
        self._count += 1
        self._token = f"{self._name}.{self._count}"
        command = self._draw()
        if command is None:
            return
        has_key = command.vm is None and self._random.random() < _KEYED
        if has_key:
            self._sent = [*self._sent[-5:], (self._token, command)]
        await self._send(command, self._token if has_key else None)

    async def _send(self, command: Command, key: str | None) -> None:
        for _ in range(1 if key is None else _ATTEMPTS):
            operation = await self._attempt(command, key)
            self._world.history.operations.append(operation)
            if operation.outcome is Outcome.FAIL:
                self._sent = [sent for sent in self._sent if sent[0] != key]
            if operation.outcome is not Outcome.UNKNOWN:
                break
            await asyncio.sleep(0.5)  # even if the trial ends: the outcome matters
        if command.vm is not None:  # the VM looks at the result
            await poll(self._world, self._metadata, command.vm, NEWEST)

    async def _attempt(self, command: Command, key: str | None) -> Operation:
        line = self._control if command.vm is None else self._metadata
        headers = _OPERATOR if command.vm is None else {"Metadata": "true"}
        if key is not None:
            headers = {**headers, "Idempotency-Key": key}
        data = b"" if command.body is None else json.dumps(command.body).encode()
        invoked, detail = now(), ""
        try:
            response = await line.request(command.method, command.path, headers, data)
        except _ERRORS as error:
            response, detail = None, type(error).__name__
        return Operation(
            kind=command.kind,
            target=command.target,
            token=self._token,
            key=key,
            vm=command.vm,
            is_emergency=bool(command.body and command.body.get("emergency")),
            invoked=invoked,
            returned=now(),
            outcome=outcome_of(response),
            status=0 if response is None else response.status,
            ids=_ids(response),
            detail=detail,
        )


_Draw = Callable[[Operator], Command | None]
_WEIGHTS: Mapping[_Draw, int] = {
    Operator._announce: 6,
    Operator._approve_as_vm: 6,
    Operator._approve: 2,
    Operator._end: 3,
    Operator._operate: 3,
    Operator._on_host: 2,
    Operator._change_fleet: 2,
}
_ENDING = (Operator._approve_as_vm, Operator._approve, Operator._end)


def outcome_of(response: ReceivedResponse | None) -> Outcome:
    """Return what `response` shows about a command."""
    if response is None or (response.status >= 500 and b"full" not in response.body):
        return Outcome.UNKNOWN
    return Outcome.OK if response.status < 300 else Outcome.FAIL


def _ids(response: ReceivedResponse | None) -> tuple[str, ...]:
    if response is None or response.status not in (200, 201) or not response.body:
        return ()
    return tuple(
        item["id"] for item in json.loads(response.body).get("maintenances", ())
    )


# --- VMs ---------------------------------------------------------------------


def _events(vm: str, version: str) -> str:
    return f"/vm/{vm}/metadata/scheduledevents?api-version={version}"


async def poll(
    world: World,
    line: KeepAliveConnection,
    vm: str,
    version: str,
    *,
    tag: str = "",
    wait: int = 0,
) -> str:
    """Read the document of `vm` and record it; return its tag."""
    headers = {"Metadata": "true"}
    headers |= {"If-None-Match": tag} if tag else {}
    headers |= {"Prefer": f"wait={wait}"} if wait else {}
    invoked, status, received, body = now(), 0, "", b""
    try:
        response = await line.request("GET", _events(vm, version), headers, wait=wait)
        status, body = response.status, response.body
        received = response.headers.get("etag", "")
    except _ERRORS:
        pass
    world.history.polls.append(
        Poll(
            vm=vm,
            version=version,
            invoked=invoked,
            returned=now(),
            status=status,
            tag=tag if status == 304 else received,
            body=world.texts.setdefault(body, body),
            wait=wait,
        )
    )
    if status == 200 and version == NEWEST:
        events = json.loads(body)["Events"]
        world.shown[vm] = [
            event for event in events if event["EventStatus"] == "Scheduled"
        ]
    return received if status == 200 else tag


async def poll_as(world: World, vm: str, seed: str, every: float) -> None:
    """Poll as `vm` until the trial is over: plain, conditional, or held."""
    random, line = Random(f"{seed}/{vm}"), KeepAliveConnection(world.metadata)
    tags: dict[str, str] = {}
    await world.pause(random.uniform(0, every))
    while not world.ended.is_set():
        version = random.choice((NEWEST, random.choice(VERSIONS)))
        chance = random.random()
        tag = tags.get(version, "") if chance < 0.5 else ""
        wait = _WAIT if chance < 0.1 else 0
        tags[version] = await poll(world, line, vm, version, tag=tag, wait=wait)
        if chance > 0.9:
            line.close()
        await world.pause(random.uniform(0.5, 1.5) * every)
    line.close()


# --- caretaker ---------------------------------------------------------------


async def request(
    world: World, path: str, body: object = None, method: str = ""
) -> ReceivedResponse | None:
    """Send one request to the control plane; None if there is no response."""
    line = KeepAliveConnection(world.control)
    data = b"" if body is None else json.dumps(body).encode()
    verb = method or ("GET" if body is None else "POST")
    try:
        return await line.request(verb, path, _OPERATOR, data)
    except _ERRORS:
        return None
    finally:
        line.close()


async def read_all(world: World, path: str) -> list[Any] | None:
    """Read all pages of a list; None if the service does not respond."""
    items: list[Any] = []
    after = ""
    while True:
        response = await request(world, f"{path}limit=1000{after}")
        if response is None or response.status != 200:
            return None
        page = json.loads(response.body)
        items += page["items"]
        if page["next"] is None:
            return items
        after = f"&after={page['next']}"


async def take_care(world: World, *, is_over: Callable[[], bool]) -> None:
    """Keep `world.live` current, retry stuck work and report hosts until the end."""
    for turn in count():
        if is_over():
            return
        if turn % 4 == 0:
            await _report_hosts(world)
        path = "/v1/maintenances?phase=SCHEDULED&phase=STARTED&"
        live = await read_all(world, path)
        world.live = world.live if live is None else live
        for item in world.live:
            if item["stuck_since"] is not None:
                await request(world, f"/v1/maintenances/{item['id']}/retry", {}, "POST")
        await asyncio.sleep(0.5)


async def _report_hosts(world: World) -> None:
    """Report where VMs are that were redeployed off a degraded host: on it again."""
    response = await request(world, "/v1/fleet")
    if response is None or response.status != 200:
        return
    hosts = {machine.name: machine.host for machine in world.machines}
    for vm in json.loads(response.body)["vms"]:
        if vm["host"] is None and vm["name"] in hosts:
            placed = {**vm, "host": hosts[vm["name"]]}
            await request(world, f"/v1/vms/{vm['name']}", placed, "PUT")


# --- webhook receiver --------------------------------------------------------


class WebhookReceiver:
    """Receiver that refuses one message in ten, until the load ends."""

    def __init__(self, world: World, seed: str) -> None:
        """Record deliveries in `world`; refuse those that `seed` chooses."""
        self._world = world
        self._random = Random(f"{seed}/webhooks")

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Receive one message."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode().lower().split("\r\n")
            sizes = (line for line in lines if line.startswith("content-length:"))
            body = await reader.readexactly(int(next(sizes).partition(":")[2]))
            is_calm = self._world.ended.is_set()  # a refusal delays all that follow
            is_accepted = is_calm or self._random.random() >= _REFUSED
            message = json.loads(body)
            self._world.history.deliveries.append(
                Delivery(
                    at=now(),
                    position=int(message["id"]),
                    entry=message["data"]["entry"],
                    events=message["data"]["scheduled_events"],
                    is_accepted=is_accepted,
                )
            )
            status = "204 No Content" if is_accepted else "503 Busy"
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            await writer.drain()
        except (*_ERRORS, StopIteration):
            return  # the sender was killed
        finally:
            writer.close()

// Drains before a reboot, approves the event, and goes back to work.
import { setTimeout as sleep } from "node:timers/promises";

interface ScheduledEvent {
  EventId: string;
  EventStatus: string;
  Resources: string[];
}

const ENDPOINT = process.env.FOREWARN_ENDPOINT ?? "http://169.254.169.254";
const EVENTS = "/metadata/scheduledevents?api-version=2020-07-01";
const INSTANCE = "/metadata/instance?api-version=2021-02-01";

async function send(path: string, body?: unknown): Promise<any> {
  const response = await fetch(ENDPOINT + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { Metadata: "true" },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(130_000), // the first response can be slow
  });
  if (!response.ok) throw new Error(`${path}: status ${response.status}`);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

async function drain(): Promise<void> {
  await sleep(100); // in production, this takes longer
  console.log("drained");
}

async function approve(event: ScheduledEvent): Promise<void> {
  await send(EVENTS, { StartRequests: [{ EventId: event.EventId }] });
}

/** Handle the events of this VM that are in the document. */
async function handle(vm: string): Promise<void> {
  const events: ScheduledEvent[] = (await send(EVENTS)).Events;
  for (const event of events) {
    if (event.EventStatus !== "Scheduled" || !event.Resources.includes(vm)) continue;
    await drain();
    await approve(event);
  }
}

for (;;) {
  try {
    await handle((await send(INSTANCE)).compute.name);
  } catch (error) {
    console.error(error);
  }
  await sleep(500); // Azure allows each VM five requests per second
}

#!/usr/bin/env node
// Reads scheduled events, prepares for them, approves them, and polls again.
"use strict";
const http = require("node:http");

const ENDPOINT = process.env.FOREWARN_ENDPOINT || "http://169.254.169.254";
const EVENTS = `${ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01`;
const INSTANCE = `${ENDPOINT}/metadata/instance?api-version=2021-02-01`;
const PAUSE = 1000 * (process.env.POLL_SECONDS || 1);
const FIRST = 130_000; // milliseconds; the first response can take two minutes

const ARGUMENTS = process.argv.slice(2);
const APPROVE_ALL = ARGUMENTS.includes("--approve-all"); // even events for other VMs
if (ARGUMENTS.some((argument) => argument !== "--approve-all")) {
  console.error("usage: scheduled-events.js [--approve-all]");
  process.exit(2);
}

const agent = new http.Agent(); // no proxy, which would hide this VM's address

async function getReady(event) {
  // Put your work here: drain connections, save data.
}

/** Approve user-initiated events, and a Freeze of less than 10 seconds. */
function mayBeApproved(event) {
  const duration = event.DurationInSeconds ?? -1;
  const isShort = event.EventType === "Freeze" && duration >= 0 && duration < 10;
  return event.EventSource === "User" || isShort;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

function sendOnce(url, { method = "GET", body, tag, timeout = 10_000 }) {
  const headers = { Metadata: "true", "Content-Type": "application/json" };
  if (tag) headers["If-None-Match"] = tag;
  if (body) headers["Content-Length"] = Buffer.byteLength(body);
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const request = http.request(url, { method, headers, agent, signal });
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => (text += part));
      response.on("error", reject);
      const tag = response.headers.etag;
      response.on("end", () => resolve({ status: response.statusCode, text, tag }));
    });
    request.end(body);
  });
}

/** Send a request until it gets a final response. Errors such as 400 are final. */
async function send(url, options) {
  for (;; await pause()) {
    try {
      const response = await sendOnce(url, options);
      const { status, text } = response;
      if (status === 200 && text) response.found = JSON.parse(text);
      if (![404, 410, 429].includes(status) && status < 500) return response;
      console.error(`${url} returned ${status}`);
    } catch (error) {
      console.error(`${url}: ${error.message}`);
    }
  }
}

async function approve(id) {
  const body = JSON.stringify({ StartRequests: [{ EventId: id }] });
  const { status } = await send(EVENTS, { method: "POST", body });
  console.log(id, status === 200 ? "approved" : `not approved: ${status}`);
}

/** Prepare for an event for this VM; approve the event if this VM is named first. */
async function act(event, me) {
  const named = (event.Resources ?? []).map((name) => name.toLowerCase());
  if (event.EventStatus !== "Scheduled") return;
  if (named.includes(me)) await getReady(event);
  const isMine = named[0] === me && mayBeApproved(event);
  if (APPROVE_ALL || isMine) await approve(event.EventId);
}

/** Return this VM's name; retry if the body is empty. */
async function myName() {
  for (;; await pause()) {
    const { status, text, found } = await send(INSTANCE, { timeout: FIRST });
    if (status !== 200) throw new Error(text);
    if (found) return found.compute.name.toLowerCase();
  }
}

async function main() {
  const me = await myName();
  let tag, timeout = FIRST, seen = new Map();
  for (;; await pause()) {
    const response = await send(EVENTS, { tag, timeout });
    timeout = 10_000;
    if (![200, 304].includes(response.status)) throw new Error(response.text);
    if (!response.found) continue; // nothing has changed, or the body was empty
    tag = response.tag;
    const events = response.found.Events ?? [];
    const now = new Map(events.map((each) => [each.EventId, each.EventStatus]));
    for (const id of seen.keys()) if (!now.has(id)) console.log(id, "gone");
    for (const event of events) {
      if (seen.get(event.EventId) === event.EventStatus) continue;
      console.log(event.EventId, event.EventType, event.EventStatus);
      await act(event, me);
    }
    seen = now;
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});

#!/usr/bin/env node
// Reads the document, gets ready, approves what may be approved; and again.
"use strict";
const http = require("node:http");

const ENDPOINT = process.env.FOREWARN_ENDPOINT || "http://169.254.169.254";
const EVENTS = `${ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01`;
const INSTANCE = `${ENDPOINT}/metadata/instance?api-version=2021-02-01`;
const PAUSE = 1000 * (process.env.POLL_SECONDS || 1);
const FIRST = 130_000; // the very first answer may take two minutes

const ARGUMENTS = process.argv.slice(2);
const APPROVE_ALL = ARGUMENTS.includes("--approve-all"); // even events of other VMs
if (ARGUMENTS.some((argument) => argument !== "--approve-all")) {
  console.error("usage: scheduled-events.js [--approve-all]");
  process.exit(2);
}

const agent = new http.Agent(); // of our own: it knows of no proxy

async function getReady(event) {
  // Do here what must be done before the event starts: drain, save, hand over.
}

/** Say yes to what our own people asked for, and to a short pause. */
function mayBeApproved(event) {
  const duration = event.DurationInSeconds ?? -1;
  const isShort = event.EventType === "Freeze" && duration >= 0 && duration < 10;
  return event.EventSource === "User" || isShort;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

function askOnce(url, { method = "GET", body, tag, timeout = 10_000 }) {
  const headers = { Metadata: "true", "Content-Type": "application/json" };
  if (tag) headers["If-None-Match"] = tag;
  if (body) headers["Content-Length"] = Buffer.byteLength(body);
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const request = http.request(url, { method, headers, agent, signal });
    request.on("error", reject);
    request.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => (text += part));
      answer.on("error", reject);
      const tag = answer.headers.etag;
      answer.on("end", () => resolve({ status: answer.statusCode, text, tag }));
    });
    request.end(body);
  });
}

/** Ask until there is an answer. 400 says that the question is wrong: it is one. */
async function ask(url, options) {
  for (;; await pause()) {
    try {
      const answer = await askOnce(url, options);
      const { status, text } = answer;
      if (status === 200 && text) answer.found = JSON.parse(text);
      if (![404, 410, 429].includes(status) && status < 500) return answer;
      console.error(`${url} answers ${status}`);
    } catch (error) {
      console.error(`${url}: ${error.message}`);
    }
  }
}

async function approve(id) {
  const body = JSON.stringify({ StartRequests: [{ EventId: id }] });
  const { status } = await ask(EVENTS, { method: "POST", body });
  console.log(id, status === 200 ? "approved" : `not approved: ${status}`);
}

/** Get ready for an event of this VM, and approve it if this VM is named first. */
async function act(event, me) {
  const named = (event.Resources ?? []).map((name) => name.toLowerCase());
  if (event.EventStatus !== "Scheduled") return;
  if (named.includes(me)) await getReady(event);
  const isMine = named[0] === me && mayBeApproved(event);
  if (APPROVE_ALL || isMine) await approve(event.EventId);
}

/** Ask who this VM is; an empty body happens here, too. */
async function myName() {
  for (;; await pause()) {
    const { status, text, found } = await ask(INSTANCE, { timeout: FIRST });
    if (status !== 200) throw new Error(text);
    if (found) return found.compute.name.toLowerCase();
  }
}

async function main() {
  const me = await myName();
  let tag, timeout = FIRST, seen = new Map();
  for (;; await pause()) {
    const answer = await ask(EVENTS, { tag, timeout });
    timeout = 10_000;
    if (![200, 304].includes(answer.status)) throw new Error(answer.text);
    if (!answer.found) continue; // nothing is new, or the body was empty: that happens
    tag = answer.tag;
    const events = answer.found.Events ?? [];
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

// A poller like common samples for Node: GET with the last tag, POST that must return 200.
// Prints each new status on a line; exits when the event it approved is gone.
"use strict";
const ask = require("./ways.js")[process.argv[2]]();
const url = process.argv[3];
const headers = { Metadata: "true", "Content-Type": "application/json" };

async function main() {
  let tag = "0";
  let told = "";
  let approved = false;
  for (let round = 0; round < 500; round += 1) {
    const answer = await ask("GET", url, { ...headers, "If-None-Match": tag });
    if (answer.status === 200) {
      tag = answer.etag;
      const [event] = JSON.parse(answer.text).Events;
      const status = event ? event.EventStatus : "none";
      if (status !== told) console.log((told = status));
      if (status === "Scheduled" && !approved) {
        await expectUnchanged(tag);
        await approve(event.EventId, tag);
        approved = true;
      } else if (!event && approved) {
        return;
      }
    } else if (answer.status !== 304) {
      throw new Error(`GET was answered ${answer.status}: ${answer.text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("it did not end");
}

async function expectUnchanged(tag) {
  const answer = await ask("GET", url, { ...headers, "If-None-Match": tag });
  if (answer.status !== 304 || answer.text) throw new Error(`got ${answer.status}`);
}

async function approve(id, tag) {
  const body = JSON.stringify({ StartRequests: [{ EventId: id }] });
  const answer = await ask("POST", url, { ...headers, "If-None-Match": tag }, body);
  if (answer.status !== 200) throw new Error(`POST was answered ${answer.status}`);
}

main().catch((problem) => {
  console.log(problem);
  process.exitCode = 1;
});

// Poller in the style of Node samples: GET with the last ETag, POST that must return
// 200. Prints each new status on a line; ends when the event it approved is gone.
"use strict";
const send = require("./clients.js")[process.argv[2]]();
const url = process.argv[3];
const headers = { Metadata: "true", "Content-Type": "application/json" };

async function main() {
  let tag = "0";
  let printed = "";
  let approved = false;
  for (let round = 0; round < 500; round += 1) {
    const response = await send("GET", url, { ...headers, "If-None-Match": tag });
    if (response.status === 200) {
      tag = response.etag;
      const [event] = JSON.parse(response.text).Events;
      const status = event ? event.EventStatus : "none";
      if (status !== printed) console.log((printed = status));
      if (status === "Scheduled" && !approved) {
        await expectUnchanged(tag);
        await approve(event.EventId, tag);
        approved = true;
      } else if (!event && approved) {
        return;
      }
    } else if (response.status !== 304) {
      throw new Error(`GET returned ${response.status}: ${response.text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the event did not end");
}

async function expectUnchanged(tag) {
  const response = await send("GET", url, { ...headers, "If-None-Match": tag });
  const isUnchanged = response.status === 304 && !response.text;
  if (!isUnchanged) throw new Error(`got ${response.status}`);
}

async function approve(id, tag) {
  const body = JSON.stringify({ StartRequests: [{ EventId: id }] });
  const response = await send("POST", url, { ...headers, "If-None-Match": tag }, body);
  if (response.status !== 200) throw new Error(`POST returned ${response.status}`);
}

main().catch((error) => {
  console.log(error);
  process.exitCode = 1;
});

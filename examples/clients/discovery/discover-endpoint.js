#!/usr/bin/env node
// Prints the address of the metadata service that DHCP announces (option 245).
// Usage: discover-endpoint.js [INTERFACE]. Run it as root on Linux. It takes no lease.
//
// Node cannot bind a socket to an interface. A socket that is bound to the interface's
// address sends through it, so the interface needs an IPv4 address. Such a socket
// receives no broadcasts, so a second one, bound to all addresses, reads the reply.
"use strict";
const crypto = require("node:crypto");
const dgram = require("node:dgram");
const os = require("node:os");

const SECONDS = process.env.DISCOVER_SECONDS || "15"; // one DISCOVER per second
const COOKIE = 0x63825363;
const OPTIONS_AT = 240; // bytes before the options
const NO_MAC = "00:00:00:00:00:00"; // used by loopback and tunnels

function fail(sentence) {
  console.error(`discover: ${sentence}`);
  process.exit(1);
}

/** Return the name, address and MAC of an interface; by default of the first one. */
function findInterface(wanted) {
  for (const [name, addresses] of Object.entries(os.networkInterfaces())) {
    if (wanted !== undefined && name !== wanted) continue;
    const found = addresses.find(({ family, mac }) => family === "IPv4" && mac !== NO_MAC);
    if (found) return { name, address: found.address, mac: found.mac };
  }
  if (wanted !== undefined) fail(`no Ethernet interface '${wanted}' with an IPv4 address`);
  return fail("no Ethernet interface has an IPv4 address");
}

/** Build a DISCOVER that requests option 245, as described in RFC 2131. */
function discoverMessage(transaction, mac) {
  const message = Buffer.alloc(300); // relays may drop shorter ones
  message.set([1, 1, 6, 0]);
  message.set(transaction, 4);
  message.writeUInt16BE(0x8000, 10); // requests a broadcast reply
  message.set(mac, 28);
  message.writeUInt32BE(COOKIE, 236);
  message.set([53, 1, 1, 55, 2, 1, 245, 255], OPTIONS_AT);
  return message;
}

/** Return option 245 of an offer; undefined if this is not one, or has none. */
function addressIn(reply, transaction, mac) {
  if (reply.length < OPTIONS_AT || reply[0] !== 2) return undefined;
  if (!transaction.equals(reply.subarray(4, 8))) return undefined;
  if (!mac.equals(reply.subarray(28, 34))) return undefined;
  if (reply.readUInt32BE(236) !== COOKIE) return undefined;
  const options = new Map();
  let at = OPTIONS_AT;
  while (at + 1 < reply.length && reply[at] !== 255) {
    if (reply[at] === 0) {
      at += 1; // padding
      continue;
    }
    options.set(reply[at], reply.subarray(at + 2, at + 2 + reply[at + 1]));
    at += 2 + reply[at + 1];
  }
  const isOffer = options.get(53)?.[0] === 2;
  const address = options.get(245);
  return isOffer && address?.length === 4 ? address.join(".") : undefined;
}

const words = process.argv.slice(2);
if (words.length > 1) {
  console.error("usage: discover-endpoint.js [INTERFACE]");
  process.exit(2);
}
if (!/^[1-9][0-9]{0,3}$/.test(SECONDS)) {
  fail(`DISCOVER_SECONDS must be from 1 to 9999, not '${SECONDS}'`);
}
const chosen = findInterface(words[0]);
const transaction = crypto.randomBytes(4);
const mac = Buffer.from(chosen.mac.replaceAll(":", ""), "hex");
const receiver = dgram.createSocket({ type: "udp4", reuseAddr: true });
const sender = dgram.createSocket({ type: "udp4", reuseAddr: true });

function failToUse(error) {
  if (error.code === "EACCES") fail("DHCP needs root; run this program as root");
  fail(`cannot use DHCP on ${chosen.name}: ${error.message}`);
}

let sent = 0;
function send() {
  if (sent++ >= Number(SECONDS)) {
    fail(`no DHCP server on ${chosen.name} announced option 245`);
  }
  sender.send(discoverMessage(transaction, mac), 67, "255.255.255.255", (error) => {
    if (error) failToUse(error);
  });
}

receiver.on("error", failToUse);
sender.on("error", failToUse);
receiver.on("message", (reply) => {
  const address = addressIn(reply, transaction, mac);
  if (address === undefined) return;
  console.log(address);
  process.exit(0);
});
receiver.bind(68, "0.0.0.0", () => {
  sender.bind(68, chosen.address, () => {
    sender.setBroadcast(true);
    send();
    setInterval(send, 1000);
  });
});

// The HTTP clients of Node.
// Each is ask(method, url, headers, body) -> {status, etag, text}.
"use strict";
const http = require("node:http");

function byHttp(options) {
  const agent = new http.Agent(options);
  return (method, url, headers, body) =>
    new Promise((resolve, reject) => {
      const request = http.request(url, { method, headers, agent }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (piece) => (text += piece));
        answer.on("end", () =>
          resolve({ status: answer.statusCode, etag: answer.headers.etag, text }));
      });
      request.on("error", reject);
      request.end(body);
    });
}

// A keep-alive agent reuses this connection unless the response says "close".
function closing(ask) {
  return (method, url, headers, body) =>
    ask(method, url, { ...headers, Connection: "close" }, body);
}

function byFetch(fetch) {
  return async (method, url, headers, body) => {
    const answer = await fetch(url, { method, headers, body });
    const etag = answer.headers.get("etag");
    return { status: answer.status, etag, text: await answer.text() };
  };
}

function byAxios(axios) {
  return async (method, url, headers, data) => {
    const answer = await axios({
      method, url, headers, data,
      proxy: false,
      responseType: "text",
      transformResponse: (text) => text,
      validateStatus: () => true,
    });
    return { status: answer.status, etag: answer.headers.etag, text: answer.data };
  };
}

module.exports = {
  "keep-alive": () => byHttp({ keepAlive: true, maxSockets: 1 }),
  "close": () => closing(byHttp({ keepAlive: true })),
  "no agent": () => byHttp({ keepAlive: false }),
  "fetch": () => byFetch(fetch),
  "node-fetch": () => byFetch(require("node-fetch")),
  "axios": () => byAxios(require("axios")),
};

// HTTP clients that programs for Node use.
// Each is send(method, url, headers, body) -> {status, etag, text}.
"use strict";
const http = require("node:http");

function httpClient(options) {
  const agent = new http.Agent(options);
  return (method, url, headers, body) =>
    new Promise((resolve, reject) => {
      const request = http.request(url, { method, headers, agent }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode, etag: response.headers.etag, text }));
      });
      request.on("error", reject);
      request.end(body);
    });
}

// A keep-alive agent reuses the connection unless the response has "Connection: close".
function withClose(send) {
  return (method, url, headers, body) =>
    send(method, url, { ...headers, Connection: "close" }, body);
}

function fetchClient(fetch) {
  return async (method, url, headers, body) => {
    const response = await fetch(url, { method, headers, body });
    const etag = response.headers.get("etag");
    return { status: response.status, etag, text: await response.text() };
  };
}

function axiosClient(axios) {
  return async (method, url, headers, data) => {
    const response = await axios({
      method, url, headers, data,
      proxy: false,
      responseType: "text",
      transformResponse: (text) => text,
      validateStatus: () => true,
    });
    return { status: response.status, etag: response.headers.etag, text: response.data };
  };
}

module.exports = {
  "keep-alive": () => httpClient({ keepAlive: true, maxSockets: 1 }),
  "close": () => withClose(httpClient({ keepAlive: true })),
  "no agent": () => httpClient({ keepAlive: false }),
  "fetch": () => fetchClient(fetch),
  "node-fetch": () => fetchClient(require("node-fetch")),
  "axios": () => axiosClient(require("axios")),
};

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { openHttpConnection } from "../src/protocol/http-connection.ts";

/** More than the kernel takes for a peer that does not read. */
const LARGE = 64 * 1024 * 1024;

const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

test("a success that is told before the body was sent is heard once it has been sent", async (t) => {
  const early = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    socket.on("data", (part) => {
      const begin = part.toString("latin1", 0, 3);
      if (begin === "GET" || begin === "PUT") socket.write(ANSWER);
      if (begin !== "PUT") return;
      socket.pause();
      early.resolve(socket);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const connection = openHttpConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    connection.close();
    server.close();
  });
  const send = (method: "GET" | "PUT", body?: Uint8Array) =>
    connection.send({
      ...{ method, path: "/", headers: {}, timeoutMs: 30_000 },
      ...(body === undefined ? {} : { body }),
    });

  const order: string[] = [];
  const told = send("PUT", Buffer.alloc(LARGE)).then((reply) => {
    order.push("told");
    return reply;
  });
  const socket = await early.promise;
  // The answer has been there for as long as whole exchanges take.
  for (let i = 0; i < 5; i += 1) await send("GET");
  order.push("read");
  socket.resume();
  assert.equal((await told).body.toString(), "{}");
  assert.deepEqual(order, ["read", "told"]);
});

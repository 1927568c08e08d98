import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/**
 * The floor of P10: a bare node:http server that writes each event to every open response and does nothing else. It is
 * told by message to send events at a rate.
 */
const open = new Set<ServerResponse>();
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 1000\n\n");
  open.add(response);
  response.on("close", () => open.delete(response));
});

process.on("message", ({ events, perSecond }: { events: number; perSecond: number }) => {
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    const frame = `id: ${sent}\nevent: record\ndata: {"id":"rec_01kahvq3rtexwt6a4e3p9c0z5h","sequence":${sent},"data":{"at":${process.hrtime.bigint()}}}\n\n`;
    for (const response of open) response.write(frame);
    if (sent === events) clearInterval(timer);
  }, 1000 / perSecond);
});

server.listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.({ port: (server.address() as AddressInfo).port });
process.on("disconnect", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));

import { Type } from "typebox";
import { route, type Route } from "../route.ts";

const Status = Type.Object({ status: Type.Literal("ok") }, { $id: "Health" });

export const healthRoutes: Route[] = [
  route({
    family: "system",
    method: "GET",
    path: "/healthz",
    operationId: "getHealth",
    summary: "Whether the process lives",
    description: "Never asks the database, so that an outage of it does not get servers restarted.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "It does.", schema: Status } },
    handle: async () => ({ status: 200, body: { status: "ok" } }),
  }),
  route({
    family: "system",
    method: "GET",
    path: "/readyz",
    operationId: "getReadiness",
    summary: "Whether the server takes requests",
    description:
      "503 while the database cannot be reached, has other migrations than this server, or the server is stopping.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "It does.", schema: Status } },
    handle: async ({ server }) => {
      await server.readiness.check();
      return { status: 200, body: { status: "ok" } };
    },
  }),
  route({
    family: "system",
    method: "GET",
    path: "/metrics",
    operationId: "getMetrics",
    summary: "Metrics of this server",
    description: "In the text format of Prometheus. Labels are route patterns, never ids.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "The metrics.", mediaType: "text/plain" } },
    handle: async ({ server }) => ({
      status: 200,
      bytes: Buffer.from(await server.metrics.render()),
      contentType: server.metrics.contentType,
    }),
  }),
];

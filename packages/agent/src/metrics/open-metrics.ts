import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "../log.ts";
import type { AgentCounts, AgentNumbers } from "./agent-counts.ts";
import { createAgentMetrics, type AgentMetrics } from "./render-metrics.ts";

/** Where `/metrics` is. */
export type MetricsPlace = { host: string; port: number };

/** The endpoint of one agent. It answers 503 until the agent is there. */
export type OpenMetrics = { show(numbers: () => AgentNumbers): void; close(): void };

/** A scraper asks one thing at a time, and slowly: what takes longer is given up. */
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 32;

const NOT_SERVED: OpenMetrics = { show: () => undefined, close: () => undefined };

/**
 * Answers `GET /metrics`, and nothing else. It needs no credential and reads nothing that a caller sends.
 *
 * @throws when it cannot listen there
 */
export async function openMetrics(
  place: MetricsPlace | null,
  counts: AgentCounts,
  logger: Logger,
): Promise<OpenMetrics> {
  if (place === null) return NOT_SERVED;
  let metrics: AgentMetrics | null = null;
  // Not by an import: see openHttpConnection.
  const server = process.getBuiltinModule("node:http").createServer((request, response) => {
    answer(request, response, metrics).catch((err: unknown) => {
      logger.warn({ err }, "the metrics could not be read");
      response.writeHead(500).end();
    });
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(place.port, place.host);
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  logger.info({ host: address, port }, "metrics are served");
  return {
    show: (numbers) => {
      metrics = createAgentMetrics(counts, numbers);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  metrics: AgentMetrics | null,
): Promise<void> {
  if (url !== "/metrics") return void response.writeHead(404).end();
  if (method !== "GET" && method !== "HEAD")
    return void response.writeHead(405, { allow: "GET, HEAD" }).end();
  if (metrics === null) return void response.writeHead(503).end();
  const text = await metrics.render();
  response.writeHead(200, { "content-type": metrics.contentType, "cache-control": "no-store" });
  response.end(method === "HEAD" ? undefined : text);
}

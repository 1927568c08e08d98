import { Type } from "typebox";
import type { ServerContext } from "../../server-context.ts";
import { route, type RouteDefinition } from "../edge/route.ts";
import type { Store } from "../edge/storage-space.ts";

const Status = Type.Object({ status: Type.Literal("ok") }, { $id: "Health" });

const ReadyStatus = Type.Object(
  {
    status: Type.Union([Type.Literal("ok"), Type.Literal("degraded")]),
    problems: Type.Array(
      Type.Object({
        check: Type.Union([Type.Literal("storage"), Type.Literal("clock"), Type.Literal("commits")]),
        code: Type.Union([
          Type.Literal("storage_full"),
          Type.Literal("clock_differs"),
          Type.Literal("commits_hang"),
        ]),
        message: Type.String(),
      }),
      {
        description:
          "What is not as it should be: a full disk (reads work, writes answer 507), a PostgreSQL that confirms no commits because a standby is gone (reads work, writes answer 503), or a clock of this machine that is more than two seconds off PostgreSQL's (which is followed).",
      },
    ),
  },
  { $id: "Readiness" },
);

/** The server stays ready: reads go on, and taking it out of a balancer would end them too. */
const fullProblem = (store: Store) => ({
  check: "storage" as const,
  code: "storage_full" as const,
  message: `The disk of the ${store === "database" ? "database" : "blob store"} is full: writes answer 507 until it has space again.`,
});

const HANGING_COMMITS = {
  check: "commits" as const,
  code: "commits_hang" as const,
  message:
    "PostgreSQL confirms no commits: a standby that it waits for may be gone. Writes answer 503 until it confirms one.",
};

/** Nothing is decided by this machine's clock; its log has wrong times. */
function clockProblems(timekeeper: ServerContext["timekeeper"]) {
  const message = timekeeper.wallClockProblem();
  return message === null ? [] : [{ check: "clock" as const, code: "clock_differs" as const, message }];
}

export const healthRoutes: RouteDefinition[] = [
  route({
    in: ["system"],
    method: "GET",
    path: "/healthz",
    name: "getHealth",
    summary: "Whether the process lives",
    description: "Never asks the database, so that an outage of it does not get servers restarted.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "It does.", schema: Status } },
    handle: async () => ({ status: 200, body: { status: "ok" } }),
  }),
  route({
    in: ["system"],
    method: "GET",
    path: "/readyz",
    name: "getReadiness",
    summary: "Whether the server takes requests",
    description:
      "503 while most requests would be refused: the database cannot be reached, does not answer or has other migrations than this server, requests" +
      " wait for a connection of the pool, or the server is starting or stopping. `details.check` names the reason: `startup`, `shutdown`, `pool` " +
      "or `database`. A full disk, commits that PostgreSQL does not confirm, and a wrong clock are named in `problems` with 200, because the server goes on.",
    tag: "Server",
    access: { kind: "public" },
    responses: { 200: { description: "It does.", schema: ReadyStatus } },
    handle: async ({ server }) => {
      await server.readiness.check();
      const problems = [
        ...(await server.storage.fullStores()).map(fullProblem),
        ...(server.db.commitsHang() ? [HANGING_COMMITS] : []),
        ...clockProblems(server.timekeeper),
      ];
      return { status: 200, body: { status: problems.length === 0 ? "ok" : "degraded", problems } };
    },
  }),
  route({
    in: ["system"],
    method: "GET",
    path: "/metrics",
    name: "getMetrics",
    summary: "Metrics of this server",
    description:
      "In the text format of Prometheus. Labels are route patterns, ids of environments, and names of tasks, actors and queues.",
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

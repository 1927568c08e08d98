import {
  encodeId,
  isTerminalRunStatus,
  PublicRun,
  PUBLIC_RUN_PERMISSION,
  SequenceCursor,
  sseFrame,
} from "@keelson/contract";
import { Type } from "typebox";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import type { FeedPage } from "../../../core/feeds/feed.ts";
import type { RunAccess } from "../../../core/public-access/public-access.ts";
import { usePublicAccess } from "../../../core/public-access/use-public-access.ts";
import { findPublicRun, type PublicRunRow } from "../../../core/runs/public-run-reads.ts";
import { DomainError, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { ANY_ORIGIN } from "../../edge/cors.ts";
import { followCursor, wantsEventStream } from "../../edge/follow.ts";
import { Text } from "../../edge/params.ts";
import { route, type Reply, type RouteDefinition } from "../../edge/route.ts";
import { publicRunJson } from "./public-wire.ts";

/** A run for browsers: the route takes a public access token for exactly it, and answers pages of any origin. */

async function readRun(server: ServerContext, { environmentId, runId }: RunAccess): Promise<PublicRunRow> {
  const run = await findPublicRun(server.db, environmentId, runId);
  if (run === null) throw notFound();
  return run;
}

/** The run as it is, and again whenever it has changed: what came in between does not come. */
function watchRun(server: ServerContext, access: RunAccess, after: number): Reply {
  const { environmentId, runId } = access;
  const read = async (cursor: number): Promise<FeedPage<Buffer>> => {
    const run = await readRun(server, access);
    const { eventSequence, status } = run;
    const hasChanged = eventSequence > cursor;
    return {
      batch: hasChanged ? Buffer.from(sseFrame("run", String(eventSequence), publicRunJson(run))) : null,
      cursor: Math.max(cursor, eventSequence),
      end: isTerminalRunStatus(status) ? { run_id: encodeId("run", runId), status } : undefined,
    };
  };
  const source = { kind: "run", environmentId, id: runId } as const;
  const feed = { key: `watched ${runId}`, source, wakeKey: wakeKeys.run(runId), read };
  return { status: 200, events: { feed, after } };
}

export const publicRunRoutes: RouteDefinition[] = [
  route({
    in: ["api-public"],
    method: "GET",
    path: "/runs/:id",
    name: "publicWatchRun",
    summary: "Watch a run from a browser",
    description:
      "The run, with a public access token for `run.read`: its status, metadata, output and failure, without its payload. With `follow=1` or " +
      "`Accept: text/event-stream` a stream of `run`: the run as it is, and again whenever it has changed. Continue with `Last-Event-ID` or " +
      "`cursor`; the stream ends with `end` and the final status. An answer is a use of the token, and so is the opening of an event stream. " +
      "Another run than the token's is 403 `scope_mismatch` and counts as no use; a token that is unknown, expired or spent is 401.",
    tag: "Runs",
    access: { kind: "public_run_access", permission: PUBLIC_RUN_PERMISSION },
    cors: ANY_ORIGIN,
    params: { id: Text() },
    query: Type.Object(
      {
        cursor: Type.Optional(SequenceCursor),
        follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "The run, or a stream.", schema: PublicRun } },
    handle: ({ server, scope, params, query, request }) => {
      if (params.id !== encodeId("run", scope.runId))
        throw new DomainError("scope_mismatch", "This public access token is for another run.");
      const after = followCursor(request, query.cursor);
      return usePublicAccess(server.db, scope, async () =>
        wantsEventStream(request, query.follow)
          ? watchRun(server, scope, after)
          : { status: 200, json: publicRunJson(await readRun(server, scope)) },
      );
    },
  }),
];

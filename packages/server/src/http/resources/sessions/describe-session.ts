import type { Uuid } from "@keelson/contract";
import { findStatusFacts } from "../../../core/runs/status-reads.ts";
import { statusReason } from "../../../core/runs/status-reason.ts";
import { findSession, type SessionRow } from "../../../core/sessions/session-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { sessionJson } from "./wire.ts";

/** @throws DomainError `not_found` unless the session is the environment's. */
export async function requireSession(
  db: Queryable,
  { environmentId }: { environmentId: Uuid<"env"> },
  sessionId: Uuid<"sess">,
): Promise<SessionRow> {
  const session = await findSession(db, environmentId, sessionId);
  if (session === null) throw notFound();
  return session;
}

/** A session as it is shown, with why its live run is not running. */
export async function describeSession(
  db: Queryable,
  place: { environmentId: Uuid<"env"> },
  sessionId: Uuid<"sess">,
  now: number,
): Promise<string> {
  const session = await requireSession(db, place, sessionId);
  const facts =
    session.runStatus === null
      ? null
      : await findStatusFacts(db, session.environmentId, session.currentRunId, now);
  return sessionJson(session, facts === null ? null : statusReason(facts));
}

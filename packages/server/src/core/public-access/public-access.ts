import {
  coversPermission,
  type PublicFilePermission,
  type PublicRunPermission,
  type PublicSessionScope,
  type PublicStreamPermission,
  type StreamDirection,
  type Uuid,
} from "@keelson/contract";

/** A public access token is good until it expires or, if its uses are counted, is spent. A use is counted when everything else is in order. */
type Held = {
  id: Uuid<"pat">;
  environmentId: Uuid<"env">;
  /** Null: its uses are not counted. */
  maxUses: number | null;
};

/**
 * Whoever holds it does one thing to one stream, such as to send input or to read output, or to the files of a session, or takes part
 * in a conversation, which is all of that to a few streams and to the files; on request only in one exchange. It is bound to the rows that its scope named when it was created, not
 * to the names: an external id that has passed on to another session does not take the token along.
 */
export type StreamAccess = Held & {
  permission: PublicSessionScope;
  sessionId: Uuid<"sess">;
  /** One, except in a conversation; none for files. */
  streamIds: readonly Uuid<"strm">[];
  /** Null: every exchange. */
  correlationId: string | null;
};

/** Whoever holds it watches one run. */
export type RunAccess = Held & { permission: PublicRunPermission; runId: Uuid<"run"> };

export type PublicAccess = StreamAccess | RunAccess;

/** The direction of the stream that a permission is for. */
export function directionOf(permission: PublicStreamPermission): StreamDirection {
  switch (permission) {
    case "session.input.send":
      return "input";
    case "session.output.read":
    case "session.messages.read":
    case "session.interrupt":
      return "output";
  }
}

/** What a request wants to do, looked up. */
export type WantedUse = {
  permission: PublicStreamPermission;
  /** Null when there is no such session or stream. */
  stream: { id: Uuid<"strm">; sessionId: Uuid<"sess">; direction: StreamDirection } | null;
  /** Of each record that is sent, or the one that is asked for; null for none. */
  correlationIds: readonly (string | null)[];
};

export type UseDecision = { kind: "allow" } | { kind: "refuse"; message: string };

const refuse = (message: string): UseDecision => ({ kind: "refuse", message });

/** Whether the scope covers the request. A refusal does not tell whether what was named exists. */
export function decideUse(access: StreamAccess, wanted: WantedUse): UseDecision {
  if (!coversPermission(access.permission, wanted.permission))
    return refuse(`This public access token is for ${access.permission} alone.`);
  const { stream } = wanted;
  const isBound =
    stream !== null &&
    access.streamIds.includes(stream.id) &&
    stream.sessionId === access.sessionId &&
    stream.direction === directionOf(wanted.permission);
  if (!isBound) return refuse("This public access token is for another stream or session.");
  if (access.correlationId !== null && wanted.correlationIds.some((id) => id !== access.correlationId))
    return refuse("This public access token is for one correlation_id; send it with every record.");
  return { kind: "allow" };
}

/**
 * Whether the scope covers files of a session, which is null when there is none. Files belong to no exchange: a token for one has no
 * access to them, or it would show those of the others.
 */
export function decideFileUse(
  access: StreamAccess,
  permission: PublicFilePermission,
  sessionId: Uuid<"sess"> | null,
): UseDecision {
  if (!coversPermission(access.permission, permission))
    return refuse(`This public access token is for ${access.permission} alone.`);
  if (access.correlationId !== null)
    return refuse(
      "This public access token is for one correlation_id, and files have none. Ask the application for one without.",
    );
  if (sessionId !== access.sessionId) return refuse("This public access token is for another session.");
  return { kind: "allow" };
}

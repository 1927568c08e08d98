import type { StateSourceKind, Uuid } from "@keelson/contract";

/**
 * The state of a session is one JSON value, which outlives the session's runs and is dropped with the session. Its version
 * counts how often it was set, from 1; 0 is the version of a state that was never set. Whoever sets it may say which version
 * it must still have. The session's row is locked meanwhile, so that of two who say the same version one succeeds.
 */

/** Who sets a state. */
export type StateSource = {
  kind: StateSourceKind;
  /** As it is shown. */
  id: string;
  /** Both of a run, and null of anybody else. */
  runId: Uuid<"run"> | null;
  attemptNumber: number | null;
};

/** What is there to read and to compare with: JSON is text, null while it was never set. */
export type KnownState = { value: string | null; version: number };

export type SessionKey = { environmentId: Uuid<"env">; sessionId: Uuid<"sess"> };

/** A state as it is written. */
export type NewState = SessionKey & { value: string; version: number; source: StateSource; at: number };

export type StateDecision = { kind: "set"; version: number } | { kind: "conflict"; message: string };

/** `ifVersion` is null for whoever overwrites. */
export function decideSetState(version: number, ifVersion: number | null): StateDecision {
  if (ifVersion === null || ifVersion === version) return { kind: "set", version: version + 1 };
  const present = version === 0 ? "was never set, which is version 0" : `has version ${version}`;
  return {
    kind: "conflict",
    message: `The state of the session ${present}, not version ${ifVersion}. Read it again, and set it with its version.`,
  };
}

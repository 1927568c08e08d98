import type { LeasedSession } from "@keelson/contract";
import type { LocateRun } from "./current-run.ts";
import { openRunFile, type RunSessionFile } from "./session-files.ts";
import { createSessionInput, type SessionDefaults, type SessionInput } from "./session-input.ts";
import { createSessionOutput, type SessionOutput } from "./session-output.ts";
import { createSessionState, type SessionStateStore } from "./session-state.ts";

/** The session that a run belongs to, as it was when the run was taken up, and its streams. */
export type RunSession<Input = unknown, Written = unknown, Stored = unknown, State = unknown> = {
  /** The session's id. */
  readonly id: string;
  /** The id that its creator gave it, or null. */
  readonly externalId: string | null;
  /** 1 for the first run of the session. */
  readonly turn: number;
  /** Of the session, as it was when the run was taken up. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Of the session, as they were when the run was taken up. */
  readonly tags: readonly string[];
  /** It took no more input when the run was taken up. */
  readonly closed: boolean;
  /** The stream `input`; `input(name)` is another one. */
  readonly input: SessionInput<Input>;
  /** The stream `output`; `output(name)` is another one. */
  readonly output: SessionOutput<Written>;
  /**
   * A file that was uploaded to the session, with the run's own credential. It is no durable call and may be used inside a step. Rejects
   * with a NotFoundError when the session has no such file.
   */
  file(id: string): Promise<RunSessionFile>;
  /** What the session remembers between its turns. */
  readonly state: SessionStateStore<Stored, State>;
};

export function createSession(
  session: LeasedSession,
  turn: number,
  locate: LocateRun,
  defaults: SessionDefaults,
): RunSession {
  return {
    id: session.id,
    externalId: session.external_id,
    turn,
    metadata: session.metadata,
    tags: session.tags,
    closed: session.closed,
    input: createSessionInput(locate, defaults),
    output: createSessionOutput(locate, defaults.output),
    file: (id) => openRunFile(locate, session.id, id),
    state: createSessionState(locate, defaults.state),
  };
}

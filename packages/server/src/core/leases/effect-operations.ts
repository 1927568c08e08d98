import { storeOrigin } from "../credentials/credential-origin.ts";
import { encodeId, type DurableError } from "@keelson/contract";
import { DomainError } from "../../domain-error.ts";
import { toStoredEvent } from "../run-events/run-event.ts";
import { toNewRecord } from "../streams/prepare-records.ts";
import { keyOfStream, type NewRecord } from "../streams/stream.ts";
import { toNewToken } from "../tokens/create-tokens.ts";
import { targetName } from "./durable-facts.ts";
import { enterJournal, goOn } from "./durable-operations.ts";
import {
  decideMessage,
  ENDED,
  INTERRUPTED_VALUE,
  journalValueOf,
  keepFromBeginning,
  recordsOf,
  writeMessage,
} from "./message-operations.ts";
import type { Change, NewJournalEntry } from "../executions/execution.ts";
import {
  type LeasedContent,
  OK,
  refuse,
  type Batch,
  type LeasedOperation,
  type OperationOutcome,
} from "./report-batch.ts";

/** Operations by which a run acts on other resources: what it does happens once, and its journal says what came of it. */

type Of<K extends LeasedContent["kind"]> = Extract<LeasedContent, { kind: K }>;
type Effect = Pick<NewJournalEntry, "position" | "place" | "kind" | "name" | "value" | "error">;

/** A refusal that the run's code can handle; anything else is not its business. */
export function toDurableError(error: unknown): DurableError {
  if (!(error instanceof DomainError)) throw error;
  return { name: "RefusedError", message: error.message, stack: null, code: error.code };
}

export function enter(batch: Batch, change: Change, effect: Effect): OperationOutcome {
  const refused = enterJournal(batch, change, [effect]);
  if (refused !== null) return refused;
  goOn(batch, change);
  const { kind: entry, value, error } = effect;
  return { ok: true, value: { kind: "effect", entry, value, error } };
}

/** Starts a run that the leased run called for. What it could not be started for is an outcome like any other. */
export function performChildRun(
  batch: Batch,
  change: Change,
  { child }: LeasedOperation,
  { position, place, task }: Of<"child-runs">,
): OperationOutcome {
  if (child === undefined) throw new Error("A child run was not prepared.");
  if (change.execution.status === "cancel_requested")
    return refuse("invalid_state", "The run is being cancelled; it starts no more runs.");
  const outcome =
    "run" in child
      ? { value: JSON.stringify({ id: encodeId("run", child.run.id) }), error: null }
      : { value: null, error: JSON.stringify(child.refusal) };
  const entered = enter(batch, change, {
    position,
    place: place ?? null,
    kind: "child_run",
    name: task,
    ...outcome,
  });
  if (entered.ok && "run" in child) batch.children.push(child.run);
  return entered;
}

/** The token's secrets follow from its id and origin, so the journal has these and no secret. */
export function performToken(batch: Batch, change: Change, operation: Of<"tokens">): OperationOutcome {
  const { environmentId, runId } = change.execution;
  const projectId = batch.facts.runs.get(runId)?.projectId;
  if (projectId === undefined) throw new Error("The run of a token was not looked up.");
  const { position, place = null, timeout, metadata, tags } = operation;
  const effect = { position, place, kind: "token", name: "token" } as const;
  let token;
  try {
    token = toNewToken(
      { environmentId, projectId, id: batch.newUuid(), runId },
      { ...(timeout && { timeout }), ...(metadata && { metadata }), ...(tags && { tags }) },
      batch.now,
    );
  } catch (error) {
    return enter(batch, change, { ...effect, value: null, error: JSON.stringify(toDurableError(error)) });
  }
  const value = {
    id: encodeId("tok", token.id),
    timeout_at: new Date(token.timeoutAt).toISOString(),
    ...storeOrigin(batch.origin),
  };
  const entered = enter(batch, change, { ...effect, value: JSON.stringify(value), error: null });
  if (entered.ok) batch.tokens.push(token);
  return entered;
}

/** Appends to an output stream of the run's session. Inside a step it has no position: the step stands for it. */
export function performOutput(batch: Batch, change: Change, operation: Of<"outputs">): OperationOutcome {
  const { execution } = change;
  const { environmentId, runId, attemptNumber } = execution;
  const sessionId = batch.facts.runs.get(runId)?.sessionId ?? null;
  if (sessionId === null)
    return refuse("invalid_state", "The run belongs to no session, so it has no output.");
  const { position, place = null, stream: name } = operation;
  const stream = batch.facts.streams.get(keyOfStream({ environmentId, sessionId, name }));
  if (stream === undefined) throw new Error("An output stream was not made.");
  if (stream.direction !== "output")
    return refuse(
      "stream_direction_mismatch",
      `Stream "${name}" is an input stream, for life. Use another name.`,
    );
  const effect = { position, place, kind: "output", name, error: null } as const;
  const said = decideMessage(batch, change, operation, stream);
  if (said.kind === "refuse") return said.outcome;
  if (said.kind === "ended") {
    if (said.isAgain) keepFromBeginning(batch, change, stream);
    return position === null
      ? ENDED
      : enter(batch, change, { ...effect, position, value: INTERRUPTED_VALUE });
  }
  let records: NewRecord[];
  try {
    records = recordsOf(batch, change, operation);
  } catch (error) {
    const { code, message } = toDurableError(error);
    return refuse(code === "payload_too_large" ? code : "invalid_request", message);
  }
  const entered =
    position === null ? OK : enter(batch, change, { ...effect, position, value: journalValueOf(operation) });
  if (!entered.ok) return entered;
  const { messageId } = said;
  const source = { kind: "run", id: encodeId("run", runId), runId, attemptNumber, messageId } as const;
  const append = {
    environmentId,
    sessionId,
    name,
    direction: "output",
    records,
    source,
    at: batch.now,
  } as const;
  if (messageId !== null)
    writeMessage(batch, change, { ...append, messageId, streamId: stream.id }, operation);
  else batch.appends.push(append);
  if (operation.records.length > 0) {
    const attributes = { stream: name, records: records.length };
    change.events.push(toStoredEvent({ kind: "output.appended", attributes }, batch.now, attemptNumber));
  }
  return entered;
}

/** Input to another session. Whether it takes it is known when everything else of the report is written. */
export function performInput(
  batch: Batch,
  change: Change,
  index: number,
  operation: Of<"inputs">,
): OperationOutcome {
  const { environmentId, runId, attemptNumber } = change.execution;
  const { position, place = null, stream: name } = operation;
  const effect = { position, place, kind: "input", name } as const;
  const target = batch.facts.targets.get(targetName(environmentId, operation));
  try {
    if (target === undefined)
      throw new DomainError("not_found", "The session does not exist in this environment.");
    const records = [toNewRecord(operation, "data", batch.newUuid)];
    const entered = enter(batch, change, { ...effect, value: null, error: null });
    const entry = batch.journal.at(-1);
    if (!entered.ok || entry === undefined) return entered;
    const source = {
      kind: "run",
      id: encodeId("run", runId),
      runId,
      attemptNumber,
      messageId: null,
    } as const;
    const append = {
      environmentId,
      sessionId: target.id,
      name,
      direction: "input",
      records,
      source,
    } as const;
    batch.inputs.push({ entry, append: { ...append, at: batch.now }, index });
    return entered;
  } catch (error) {
    return enter(batch, change, { ...effect, value: null, error: JSON.stringify(toDurableError(error)) });
  }
}

import { encodeId } from "@keelson/contract";
import { DomainError } from "../../domain-error.ts";
import type { Change } from "../executions/execution.ts";
import { toStoredEvent } from "../run-events/run-event.ts";
import { decideSetState, type KnownState, type SessionKey } from "../sessions/session-state.ts";
import { stateText } from "../sessions/set-state.ts";
import { enter, toDurableError } from "./effect-operations.ts";
import { refuse, type Batch, type LeasedContent, type OperationOutcome } from "./report-batch.ts";
import { keyOfState } from "./state-facts.ts";

/** Operations on the state of the run's session: what the run read, and that it was set, is in its journal. */

type States = Extract<LeasedContent, { kind: "states" }>;

export function performState(batch: Batch, change: Change, operation: States): OperationOutcome {
  const { environmentId, runId } = change.execution;
  const sessionId = batch.facts.runs.get(runId)?.sessionId ?? null;
  if (sessionId === null)
    return refuse("invalid_state", "The run belongs to no session, so there is no state.");
  const { position, place = null, action } = operation;
  const effect = { position, place, kind: "state", name: action } as const;
  const key = { environmentId, sessionId };
  const known = batch.facts.states.get(keyOfState(key));
  if (known === undefined) {
    const error = new DomainError("not_found", "The session of the run does not exist any more.");
    return enter(batch, change, { ...effect, value: null, error: JSON.stringify(toDurableError(error)) });
  }
  if (action === "set") return performSet(batch, change, { key, known, effect, operation });
  const value = `{"state":${known.value ?? "null"},"version":${known.version}}`;
  return enter(batch, change, { ...effect, value, error: null });
}

type Setting = {
  key: SessionKey;
  known: KnownState;
  effect: { position: number; place: number | null; kind: "state"; name: string };
  operation: States;
};

function performSet(
  batch: Batch,
  change: Change,
  { key, known, effect, operation }: Setting,
): OperationOutcome {
  const { runId, attemptNumber } = change.execution;
  let value: string;
  try {
    value = stateText(operation.state);
  } catch (error) {
    return refuse("payload_too_large", toDurableError(error).message);
  }
  const decision = decideSetState(known.version, operation.expected ?? null);
  if (decision.kind === "conflict") {
    const error = toDurableError(new DomainError("state_conflict", decision.message));
    const present = JSON.stringify({ version: known.version });
    return enter(batch, change, { ...effect, value: present, error: JSON.stringify(error) });
  }
  const { version } = decision;
  const entered = enter(batch, change, { ...effect, value: JSON.stringify({ version }), error: null });
  if (!entered.ok) return entered;
  const source = { kind: "run", id: encodeId("run", runId), runId, attemptNumber } as const;
  batch.states.set(keyOfState(key), { ...key, value, version, source, at: batch.now });
  batch.facts.states.set(keyOfState(key), { value, version });
  change.events.push(
    toStoredEvent({ kind: "state.updated", attributes: { version } }, batch.now, attemptNumber),
  );
  return entered;
}

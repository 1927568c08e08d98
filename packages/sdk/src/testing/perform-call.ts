import type { DurableCall, EffectResult, WaitsResult } from "@keelson/contract";
import type { Harness } from "./harness.ts";
import type { KeptRun } from "./kept-run.ts";
import { enter, refused } from "./enter-journal.ts";
import { Refusal } from "./refusal.ts";
import { performOutput } from "./perform-output.ts";

type Of<K extends DurableCall["kind"]> = Extract<DurableCall, { kind: K }>;
/** What a server makes of a call. Throws a `Refusal` where it takes none of it. */
export function performCall(
  harness: Harness,
  run: KeptRun,
  call: DurableCall,
): WaitsResult | EffectResult | null {
  switch (call.kind) {
    case "steps":
      return performSteps(run, call);
    case "waits": {
      const result = run.waits.perform(call);
      cancelChildren(harness, run, call);
      if (run.status === "running" || run.status === "waiting")
        run.status = result.parked ? "waiting" : "running";
      return result;
    }
    case "tokens":
      return performToken(harness, run, call);
    case "child-runs":
      return performChild(harness, run, call);
    case "outputs":
      return performOutput(harness, run, call);
    case "inputs":
      return performInput(harness, run, call);
    case "states":
      return performState(run, call);
    case "usage":
      run.used.push(...call.used);
      return null;
    case "execs":
      throw new Refusal("invalid_state", "A test in process has no workspaces, so it runs no commands.");
  }
}

function performSteps(run: KeptRun, { entries }: Of<"steps">): null {
  for (const entry of entries) {
    const isAccepted = entry.kind === "wait" && (entry.error ?? null) === null;
    const value = isAccepted ? structuredClone(run.waits.accept(entry.position)) : entry.value;
    enter(run, entry, entry.kind, entry.name, value ?? null, entry.error ?? null);
  }
  return null;
}

function performToken(harness: Harness, run: KeptRun, call: Of<"tokens">): EffectResult {
  const token = harness.tokens.create(call);
  if (token === null) {
    const message = "timeout must be a duration from 1ms to 30d, such as 24h";
    return enter(run, call, "token", "token", null, refused("invalid_request", message));
  }
  const { id, timeoutAt } = token;
  return enter(run, call, "token", "token", {
    ...{ id, timeout_at: new Date(timeoutAt).toISOString() },
    public_access_token: `public_access_token_of_${id}`,
    callback_url: `https://keelson.test/callbacks/${id}`,
  });
}

function performChild(harness: Harness, run: KeptRun, call: Of<"child-runs">): EffectResult {
  if (run.status === "cancel_requested")
    throw new Refusal("invalid_state", "The run is being cancelled; it starts no more runs.");
  const { id } = harness.startChild(run, call);
  return enter(run, call, "child_run", call.task, { id });
}

/** Those that the code has started by calls that it gives up. */
function cancelChildren({ runs }: Harness, { journal }: KeptRun, { cancels = [] }: Of<"waits">): void {
  const started = journal.filter(({ kind, position }) => kind === "child_run" && cancels.includes(position));
  const ids = started.map(({ value }) => (value as { id: string }).id);
  for (const child of runs.filter(({ id }) => ids.includes(id))) child.cancel();
}

/** What goes to another session than that of the test is taken, and only told. */
function performInput(harness: Harness, run: KeptRun, call: Of<"inputs">): EffectResult {
  const { stream, data, session_id, external_id, correlation_id, content_type } = call;
  const { session } = harness;
  const isOwn =
    session !== null &&
    (session.id === session_id || (external_id !== undefined && session.externalId === external_id));
  if (isOwn && session.status !== "open") {
    const message = `The session has ended as ${session.status} and takes no more records. Start another session.`;
    return enter(run, call, "input", stream, null, refused("session_closed", message));
  }
  const busy = isOwn ? session.busyReason(stream) : null;
  if (busy !== null) return enter(run, call, "input", stream, null, refused("session_busy", busy));
  const target = session_id ?? external_id ?? "";
  run.sent.push({ session: target, stream, data, correlationId: correlation_id ?? null });
  const result = enter(run, call, "input", stream, null);
  const record = { data, ...(correlation_id && { correlation_id }), ...(content_type && { content_type }) };
  if (isOwn) session.send(stream, [record], { source: { kind: "run", id: run.id }, run });
  return result;
}

function performState(run: KeptRun, call: Of<"states">): EffectResult {
  const { session } = run;
  if (session === null)
    throw new Refusal("invalid_state", "The run belongs to no session, so there is no state.");
  const { action, expected = null, state } = call;
  const { version } = session.state;
  if (action === "get") return enter(run, call, "state", action, structuredClone(session.state));
  if (expected !== null && expected !== version) {
    const present = version === 0 ? "was never set, which is version 0" : `has version ${version}`;
    const message = `The state of the session ${present}, not version ${expected}. Read it again, and set it with its version.`;
    return enter(run, call, "state", action, { version }, refused("state_conflict", message));
  }
  session.state = { state: state ?? null, version: version + 1 };
  return enter(run, call, "state", action, { version: version + 1 });
}

import { toMilliseconds, toWireDuration, type DurationInput } from "../duration-input.ts";
import { withKey } from "./automatic-key.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import type { StartedAndWaited } from "./resources.ts";
import { toWireSession, type NewSession } from "./session-options.ts";
import type { Transport } from "./transport.ts";
import { startedAndWaitedShape } from "./wire-shapes.ts";

const DEFAULT_WAIT_MS = 60_000;

/** Creates a session and waits for the end of its run. */
export function startAndWait(
  transport: Transport,
  { timeout, ...session }: NewSession & { timeout?: DurationInput },
  options: CallOptions,
): Promise<StartedAndWaited> {
  const waitMs = timeout === undefined ? DEFAULT_WAIT_MS : toMilliseconds(timeout, "timeout");
  const wire = timeout === undefined ? {} : { timeout: toWireDuration(timeout, "timeout") };
  const timeoutMs = transport.config.timeoutMs + waitMs;
  return transport.ask(startedAndWaitedShape, {
    method: "POST",
    path: "/api/sessions/start-and-wait",
    body: { json: { ...toWireSession(withKey(session, { ...transport.config, timeoutMs })), ...wire } },
    repeatable: true,
    requestTimeout: timeoutMs,
    ...callOptions(options),
  });
}

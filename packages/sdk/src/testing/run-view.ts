import type { Run, RunFailure, WaitState } from "@keelson/contract";
import { fromWire } from "../client/camel-cased.ts";
import type { RunCall, Usage } from "../client/resources.ts";
import { runCallShape } from "../client/wire-shapes.ts";
import type { KeptEntry, KeptRun } from "./kept-run.ts";
import { sumUsage } from "./test-usage.ts";

/** The outcome of a step, one for each attempt of the run that ran the step. A `pipe()` is a step with the name of its stream. */
export type TestStep = {
  /** The name that the code gave it. */
  name: string;
  /** `failed` after its last try. */
  status: "succeeded" | "failed";
  /** Tries in this attempt of the run. */
  tries: number;
  /** The attempt of the run, 1 for the first. */
  attempt: number;
  /** The result of the step, as JSON; null when the step failed. */
  output: unknown;
  /** The error of the last try; null when the step succeeded. */
  error: { message: string } | null;
};

/** How a run ended. The fields are those of a run of the API. */
export type EndedRun<Output = unknown> =
  | {
      /** The code returned. */
      status: "succeeded";
      /** What the code returned, as JSON; null for undefined. */
      output: Output;
      failure: null;
      /** The last attempt, 1 for the first. */
      attemptNumber: number;
    }
  | {
      /** The last attempt failed, or the run was cancelled. */
      status: "failed" | "cancelled";
      output: null;
      /** Why the run failed; null when it was cancelled. */
      failure: RunFailure | null;
      attemptNumber: number;
    };

/** A run, as far as it has come. */
export type RunView<Output = unknown> = {
  /** The id of the run. */
  readonly id: string;
  /** The id of the task; null for a run of an actor. */
  readonly task: string | null;
  /** The payload that the run was started with, as JSON. */
  readonly payload: unknown;
  /** How often the run has continued by `ctx.continueAs()`. */
  readonly continuations: number;
  /** The status, as in the API. */
  readonly status: Run["status"];
  /** How the run ended; null until then. */
  readonly ending: EndedRun<Output> | null;
  /** The steps that ended so far, in the order of their ends. */
  readonly steps: readonly TestStep[];
  /** The durable calls since the last `ctx.continueAs()`, in the order in which the code saw their outcomes, as `client.runs.calls()` returns them. */
  readonly calls: readonly RunCall[];
  /** The lines of the log, such as `INFO Sent {"to":"ada"}`. */
  readonly logs: readonly string[];
  /** The metadata as it is now. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What the run's calls of models used, as `client.runs.usage()` returns it. */
  readonly usage: Usage;
  /** The child runs, in the order of their starts. */
  readonly children: readonly RunView[];
  /** What the code sent by `ctx.sessions.send()`, the first first. `session` is the id or the external id. */
  readonly sent: readonly {
    session: string;
    stream: string;
    data: unknown;
    correlationId: string | null;
  }[];
};

export function endedOf<Output>({ ending, attempt }: KeptRun): EndedRun<Output> | null {
  return ending === null ? null : ({ ...ending, attemptNumber: attempt } as EndedRun<Output>);
}

/** Of a wait, an entry has the state that the code saw. */
function toCall({ id }: KeptRun, entry: KeptEntry): RunCall {
  const { position, kind, name, error, attempt_number, at } = structuredClone(entry);
  const state = kind === "wait" ? (entry.value as WaitState) : null;
  const value: unknown = structuredClone(state === null ? entry.value : state.value);
  if (kind === "token" && value !== null) {
    // Secrets are in no list.
    delete (value as Record<string, unknown>)["public_access_token"];
    delete (value as Record<string, unknown>)["callback_url"];
  }
  const wait = state && { kind: state.kind, status: state.status, timeout_at: state.timeout_at };
  const call = { run_id: id, position, kind, name, attempt_number, value, error, wait, at };
  return fromWire(runCallShape, call as never);
}

/** A view of a run, which goes on with it. */
export function viewOf<Output>(run: KeptRun, childrenOf: (run: KeptRun) => KeptRun[]): RunView<Output> {
  const { kind, declaredId } = run.start.entrypoint;
  return {
    ...{ id: run.id, task: kind === "task" ? declaredId : null, payload: run.start.payload },
    get continuations() {
      return run.continuations;
    },
    get status() {
      return run.status;
    },
    get ending() {
      return endedOf<Output>(run);
    },
    get steps() {
      return [...run.steps];
    },
    get calls() {
      return run.journal.map((entry) => toCall(run, entry));
    },
    get logs() {
      return [...run.logs];
    },
    get metadata() {
      return structuredClone(run.metadata);
    },
    get usage() {
      return sumUsage(run.used);
    },
    get children() {
      return childrenOf(run).map((child) => viewOf(child, childrenOf));
    },
    get sent() {
      return [...run.sent];
    },
  };
}

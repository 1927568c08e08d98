import type { Run, RunFailure, WaitState } from "@keelson/contract";
import { fromWire } from "../client/camel-cased.ts";
import type { RunCall, Usage } from "../client/resources.ts";
import { runCallShape } from "../client/wire-shapes.ts";
import type { KeptEntry, KeptRun } from "./kept-run.ts";
import { sumUsage } from "./test-usage.ts";

/** What a step has come to, once in each attempt of the run that ran it. A `pipe()` is a step with the name of its stream. */
export type TestStep = {
  /** The name that the code gave it. */
  name: string;
  /** `failed` after its last try. */
  status: "succeeded" | "failed";
  /** Tries in this attempt of the run. */
  tries: number;
  /** The attempt of the run, 1 for the first. */
  attempt: number;
  /** What it returned, as JSON; null when it failed. */
  output: unknown;
  /** What its last try threw; null when it succeeded. */
  error: { message: string } | null;
};

/** How a run has ended. The fields are those of a run of the API. */
export type EndedRun<Output = unknown> =
  | {
      /** It has returned. */
      status: "succeeded";
      /** What its code returned, as JSON; null for nothing. */
      output: Output;
      failure: null;
      /** The attempt that it ended in, 1 for the first. */
      attemptNumber: number;
    }
  | {
      /** Its last attempt has failed, or it was cancelled. */
      status: "failed" | "cancelled";
      output: null;
      /** Why it failed; null when it was cancelled. */
      failure: RunFailure | null;
      attemptNumber: number;
    };

/** What a run has done so far. */
export type RunView<Output = unknown> = {
  /** Its id. */
  readonly id: string;
  /** Its task; null of an actor's. */
  readonly task: string | null;
  /** What it was started with, as JSON. */
  readonly payload: unknown;
  /** As the API has it. */
  readonly status: Run["status"];
  /** Null until it has ended. */
  readonly ending: EndedRun<Output> | null;
  /** Steps that have come to their end, in this order. */
  readonly steps: readonly TestStep[];
  /** Durable calls whose outcome its code has seen, in this order, as `client.runs.calls()` gives them. */
  readonly calls: readonly RunCall[];
  /** The lines of its log, such as `INFO Sent {"to":"ada"}`. */
  readonly logs: readonly string[];
  /** As it is now. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What its calls of models used, as `client.runs.usage()` says it. */
  readonly usage: Usage;
  /** Runs that it has started, in this order. */
  readonly children: readonly RunView[];
  /** What it sent by `ctx.sessions.send()`, in this order. `session` is the id or the external id. */
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

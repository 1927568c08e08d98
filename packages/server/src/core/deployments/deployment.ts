import type {
  DeploymentEventKind,
  DeploymentManifest,
  DeploymentStatus,
  ErrorIssue,
} from "@keelson/contract";

/**
 * The life of a deployment.
 *
 * A deployment is an immutable version of an environment's code. It is pending until a worker has booted its bundle once
 * without running anything, then ready or failed for good. Being current is not a state: an environment points at one
 * ready deployment, and promoting an older one is the rollback.
 */
export const DEPLOYMENT_EDGES = [
  { from: "pending", on: "boots and registers what it declares", to: "ready" },
  { from: "pending", on: "does not boot, or misses an entrypoint", to: "failed" },
] as const satisfies readonly { from: DeploymentStatus; on: string; to: DeploymentStatus }[];

export type DeploymentError = { message: string; stack: string | null };

export type DecidedDeploymentEvent = {
  kind: DeploymentEventKind;
  message: string;
  attributes?: Record<string, unknown>;
};

/** What a worker found. `entrypoints` are what the bundle registered. */
export type CheckAnswer =
  | { status: "ready"; entrypoints: readonly { kind: "task" | "actor"; declaredId: string }[] }
  | { status: "failed"; error: DeploymentError }
  /** Infrastructure ended the check: nothing is known of the bundle. */
  | { status: "interrupted"; error: DeploymentError };

export type CheckDecision =
  | { kind: "none" }
  /** It stays pending, and is checked again. */
  | { kind: "again"; error: DeploymentError; delayMs: number }
  | { kind: "ready"; event: DecidedDeploymentEvent }
  | { kind: "failed"; error: DeploymentError; event: DecidedDeploymentEvent };

/** How long a worker may be silent about a check that it holds: it is taken for gone then, and another one is asked. */
export const CHECK_DURATION_MS = 60_000;

/** Of a worker that fell silent only this is known: its machine, its network or its agent may have ended, or the bundle ended it. */
export const SILENCE: DeploymentError = {
  message: `The worker that had the check was not heard of for ${CHECK_DURATION_MS / 1_000} s.`,
  stack: null,
};

/** Checks that infrastructure interrupted say nothing of the bundle. With the delays that is a quarter of an hour of them. */
const MAX_INTERRUPTIONS = 8;
const AGAIN_AFTER_MS = 2_000;
/** No check is put off for longer. */
export const LONGEST_DELAY_MS = 300_000;

/** After the interruption of that number, 1 for the first: 2 s, 8 s, 32 s, and so on up to 5 minutes. */
const checkDelayMs = (interruptions: number): number =>
  Math.min(LONGEST_DELAY_MS, AGAIN_AFTER_MS * 4 ** (interruptions - 1));

/**
 * The newest check of a deployment is answered. A settled deployment keeps its state, so a repeat changes nothing. What a worker
 * found counts also when the check was taken for interrupted meanwhile.
 *
 * @param isHeld the check was not interrupted yet: that is counted once, whoever says it
 * @param interruptions how many checks of it were interrupted before
 */
export function decideCheck(
  status: DeploymentStatus,
  manifest: DeploymentManifest,
  answer: CheckAnswer,
  { isHeld, interruptions }: { isHeld: boolean; interruptions: number },
): CheckDecision {
  switch (status) {
    case "pending": {
      if (answer.status === "failed") return failed(answer.error);
      if (answer.status === "interrupted" && !isHeld) return { kind: "none" };
      if (answer.status === "interrupted") return decideInterruption(answer.error, interruptions);
      const missing = missingEntrypoints(manifest, answer.entrypoints);
      if (missing.length > 0) return failed({ message: missingMessage(missing), stack: null });
      return {
        kind: "ready",
        event: { kind: "deployment.ready", message: "A worker booted the bundle; it can be promoted." },
      };
    }
    case "ready":
    case "failed":
      return { kind: "none" };
  }
}

/** @param before how many checks of the deployment were interrupted before this one */
export function decideInterruption(
  error: DeploymentError,
  before: number,
): Extract<CheckDecision, { kind: "again" | "failed" }> {
  const interruptions = before + 1;
  if (interruptions < MAX_INTERRUPTIONS) {
    const delayMs = checkDelayMs(interruptions);
    const message = `The check of the bundle was interrupted (${interruptions} of ${MAX_INTERRUPTIONS}); it is checked again in ${delayMs / 1_000} s: ${error.message}`;
    return { kind: "again", error: { ...error, message }, delayMs };
  }
  const message = `${interruptions} checks of the bundle were interrupted by infrastructure, so nothing is known of the bundle. The last time: ${error.message} Look at the workers, then deploy again.`;
  return failed({ ...error, message });
}

const failed = (error: DeploymentError): Extract<CheckDecision, { kind: "failed" }> => ({
  kind: "failed",
  error,
  // The error is stored as JSON and keeps its NUL; the event's text cannot.
  event: { kind: "deployment.failed", message: error.message.replaceAll("\0", "\ufffd") },
});

type Entrypoint = { kind: "task" | "actor"; declaredId: string };

function missingEntrypoints(manifest: DeploymentManifest, registered: readonly Entrypoint[]): Entrypoint[] {
  const known = new Set(registered.map(({ kind, declaredId }) => `${kind} ${declaredId}`));
  return entrypointsOf(manifest).filter(({ kind, declaredId }) => !known.has(`${kind} ${declaredId}`));
}

const NAMED_AT_MOST = 20;

function missingMessage(missing: readonly Entrypoint[]): string {
  const named = missing.slice(0, NAMED_AT_MOST).map(({ kind, declaredId }) => `${kind} "${declaredId}"`);
  const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : "";
  return `The bundle did not register ${named.join(", ")}${more}, which its manifest declares. Import every file that declares one, and deploy again.`;
}

/** Every task and actor of a manifest. */
export const entrypointsOf = (manifest: DeploymentManifest): Entrypoint[] => [
  ...manifest.tasks.map(({ id }): Entrypoint => ({ kind: "task", declaredId: id })),
  ...(manifest.actors ?? []).map(({ id }): Entrypoint => ({ kind: "actor", declaredId: id })),
];

export type PromoteDecision = { kind: "none" } | { kind: "promote" } | { kind: "refuse"; message: string };

/** The environment's pointer is to be moved here. Only code that was seen to boot may get runs. */
export function decidePromote(status: DeploymentStatus, isCurrent: boolean): PromoteDecision {
  switch (status) {
    case "ready":
      return isCurrent ? { kind: "none" } : { kind: "promote" };
    case "pending":
      return {
        kind: "refuse",
        message:
          "The deployment is pending: no worker has booted its bundle yet. Promote it when it is ready.",
      };
    case "failed":
      return { kind: "refuse", message: "The deployment failed; see its error, and deploy again." };
  }
}

/** `YYYYMMDD.N`: the day in UTC and the number of the deployment in its environment. */
export function deploymentVersion(now: number, count: number): string {
  return `${new Date(now).toISOString().slice(0, 10).replaceAll("-", "")}.${count}`;
}

/** Ids and names that a manifest declares twice. */
export function duplicateIssues(manifest: DeploymentManifest): ErrorIssue[] {
  return [
    ...duplicates(
      "manifest.tasks",
      "id",
      manifest.tasks.map(({ id }) => id),
    ),
    ...duplicates(
      "manifest.actors",
      "id",
      (manifest.actors ?? []).map(({ id }) => id),
    ),
    ...duplicates(
      "manifest.queues",
      "name",
      (manifest.queues ?? []).map(({ name }) => name),
    ),
    ...duplicates(
      "manifest.schedules",
      "id",
      (manifest.schedules ?? []).map(({ id }) => id),
    ),
    ...duplicates(
      "manifest.sandboxes",
      "id",
      (manifest.sandboxes ?? []).map(({ id }) => id),
    ),
  ];
}

function duplicates(path: string, field: string, names: readonly string[]): ErrorIssue[] {
  const first = new Map<string, number>();
  return names.flatMap((name, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    return earlier === undefined
      ? []
      : [
          {
            path: `${path}.${index}.${field}`,
            message: `"${name}" is already declared at ${path}.${earlier}; declare it once`,
          },
        ];
  });
}

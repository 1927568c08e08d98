import type { EntrypointDeclaration } from "./schemas/deployment.ts";
import type { SessionOnFailure, WhileBusy } from "./sessions.ts";

type Declaration = Pick<EntrypointDeclaration, "session_on_failure" | "while_busy">;

/** What a failed run of an actor does to its session. Deployments of older SDKs do not say it: there it ends the session. */
export const sessionOnFailureOf = (declaration: Declaration | undefined): SessionOnFailure =>
  declaration?.session_on_failure ?? "end";

/** What input that does not say it does while a turn of the actor is live. */
export const whileBusyOf = (declaration: Declaration): WhileBusy => declaration.while_busy ?? "enqueue";

const OF_ACTORS = {
  session_on_failure: "only an actor has it; a failed run of a task ends its session",
  while_busy: "only an actor has it; input to a session of a task waits, unless its sender says otherwise",
} as const;

/** What a task declares that only an actor can. */
export const actorOnlyProblems = (
  kind: "tasks" | "actors",
  declaration: Declaration,
): { path: string; message: string }[] =>
  kind === "actors"
    ? []
    : (["session_on_failure", "while_busy"] as const)
        .filter((path) => declaration[path] !== undefined)
        .map((path) => ({ path, message: OF_ACTORS[path] }));

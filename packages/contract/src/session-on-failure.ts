import type { EntrypointDeclaration } from "./schemas/deployment.ts";
import type { SessionOnFailure } from "./sessions.ts";

type Declaration = Pick<EntrypointDeclaration, "session_on_failure"> | undefined;

/** What a failed run of an actor does to its session. Deployments of older SDKs do not say it: there it ends the session. */
export const sessionOnFailureOf = (declaration: Declaration): SessionOnFailure =>
  declaration?.session_on_failure ?? "end";

/** What is wrong with it in the declaration of a task or an actor; null when nothing is. */
export const sessionOnFailureProblem = (
  kind: "tasks" | "actors",
  declaration: Declaration,
): { path: string; message: string } | null =>
  kind === "actors" || declaration?.session_on_failure === undefined
    ? null
    : {
        path: "session_on_failure",
        message: "only an actor has it; a failed run of a task ends its session",
      };

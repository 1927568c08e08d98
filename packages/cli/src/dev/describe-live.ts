import type { Run, RunEvent } from "@keelson/sdk";
import type { Style } from "../cli.ts";

/** What is said of an event, and how it is painted; null for one that a person need not see while they work. */
export type Said = { text: string; style: Style; isFailure: boolean };

const say = (text: string, style: Style, isFailure = false): Said => ({ text, style, isFailure });

const seconds = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);

const attemptOf = ({ attemptNumber: attempt }: RunEvent): string =>
  (attempt ?? 1) > 1 ? `, attempt ${attempt}` : "";

const messageOf = ({ attributes, message }: RunEvent): string =>
  typeof attributes["message"] === "string" ? attributes["message"] : message;

/** @param startedAt when the run was created, for how long it took */
export function describeLive(event: RunEvent, startedAt: string): Said | null {
  const took = (): string => seconds(Math.max(0, Date.parse(event.at) - Date.parse(startedAt)));
  switch (event.kind) {
    case "run.started":
      return say(`started${attemptOf(event)}`, "blue");
    case "run.waiting":
      return say("waiting", "dim");
    case "run.resumed":
      return say("resumed", "dim");
    case "run.continued":
      return say("continues with an empty journal", "dim");
    case "step.completed":
    case "step.failed":
      return say(event.message, event.kind === "step.failed" ? "yellow" : "dim");
    case "run.retry_delayed": {
      const delay = event.attributes["delayMs"];
      const when = typeof delay === "number" && delay > 0 ? ` in ${seconds(delay)}` : " at once";
      return say(
        `attempt ${event.attemptNumber ?? 1} failed: ${messageOf(event)}; retry${when}`,
        "yellow",
        true,
      );
    }
    case "run.succeeded":
      return say(`succeeded in ${took()}`, "green");
    case "run.failed":
    case "run.system_failed":
      return say(`failed after ${took()}: ${messageOf(event)}`, "red", true);
    case "run.cancelled":
    case "run.expired":
      return say(event.kind.slice("run.".length), "yellow");
    default:
      return null;
  }
}

/** What runs of one name are told apart by. */
export const nameOf = (run: Pick<Run, "id" | "task" | "actor">): string =>
  `${run.task ?? run.actor ?? "run"} ${run.id.slice(-4)}`;

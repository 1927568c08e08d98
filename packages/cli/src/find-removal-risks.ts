import { isTerminalRunStatus, RUN_STATUSES } from "@keelson/contract/plain";
import { PermissionError, type Client, type PagedList } from "@keelson/sdk";
import type { Change } from "./deploy-plan.ts";

const LIVE = RUN_STATUSES.filter((status) => !isTerminalRunStatus(status));

/** More are not counted: the person is asked all the same. */
const COUNTED = 100;

async function countUpTo<T>(
  list: PagedList<T>,
  isCounted: (item: T) => boolean = () => true,
): Promise<string | null> {
  const page = await list.page();
  const count = page.items.filter(isCounted).length;
  return count === 0 ? null : page.nextCursor === null ? String(count) : `${count} or more`;
}

const plural = (count: string | null, noun: string): string[] =>
  count === null ? [] : [`${count} ${noun}${count === "1" ? "" : "s"}`];

/** What still needs the thing that goes; null when nothing does. */
async function riskOf(client: Client, { kind, id }: Change, signal: AbortSignal): Promise<string | null> {
  const options = { signal };
  const limit = COUNTED;
  if (kind === "sandbox") return null;
  if (kind === "schedule") {
    const declared = client.schedules.list({ type: "declarative", deduplicationKey: id, limit }, options);
    return (await countUpTo(declared, ({ status }) => status === "active")) === null ? null : "active";
  }
  const [runs, schedules, sessions] = await Promise.all([
    countUpTo(client.runs.list({ [kind]: id, status: LIVE, limit }, options)),
    kind === "task"
      ? countUpTo(
          client.schedules.list({ task: id, type: "imperative", limit }, options),
          ({ status }) => status === "active",
        )
      : null,
    countUpTo(client.sessions.list({ [kind]: id, status: "open", limit }, options)),
  ]);
  const parts = [
    ...plural(runs, "live run"),
    ...plural(schedules, "active schedule"),
    ...plural(sessions, "open session"),
  ];
  return parts.length === 0 ? null : parts.join(", ");
}

/** Why each removal needs a person's word. What a key may not look at counts as a reason: it may be in use. */
export async function findRemovalRisks(
  client: Client,
  changes: readonly Change[],
  signal: AbortSignal,
): Promise<Map<Change, string>> {
  const risks = new Map<Change, string>();
  for (const change of changes.filter(({ sign }) => sign === "-")) {
    try {
      const risk = await riskOf(client, change, signal);
      if (risk !== null) risks.set(change, risk);
    } catch (error) {
      if (!(error instanceof PermissionError)) throw error;
      risks.set(change, "may be in use: this key may not read runs, schedules and sessions");
    }
  }
  return risks;
}

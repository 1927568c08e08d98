import type { DeploymentManifest } from "@keelson/contract";
import { canonicalJson } from "./canonical-json.ts";

export const KINDS = ["task", "actor", "schedule", "sandbox"] as const;
export type Kind = (typeof KINDS)[number];

export type Change = { sign: "+" | "~" | "-"; kind: Kind; id: string };

type Declared = { id: string };

const LISTS = { task: "tasks", actor: "actors", schedule: "schedules", sandbox: "sandboxes" } as const;

/** What an environment would gain, have otherwise and lose. */
export function planDeploy(
  current: Partial<DeploymentManifest> | null,
  next: Partial<DeploymentManifest>,
): Change[] {
  return KINDS.flatMap((kind) => {
    const before = byId(current?.[LISTS[kind]] ?? []);
    const after = byId(next[LISTS[kind]] ?? []);
    const added = [...after.keys()].filter((id) => !before.has(id));
    const changed = [...after].filter(([id, text]) => before.has(id) && before.get(id) !== text);
    const removed = [...before.keys()].filter((id) => !after.has(id));
    return [
      ...added.map((id): Change => ({ sign: "+", kind, id })),
      ...changed.map(([id]): Change => ({ sign: "~", kind, id })),
      ...removed.map((id): Change => ({ sign: "-", kind, id })),
    ];
  });
}

/** Declarations by id, as texts that can be compared: a field that says nothing is as one that is not there. */
const byId = (list: readonly Declared[]): Map<string, string> =>
  new Map(
    list.map((declared) => {
      const said = Object.entries(declared).filter(([, value]) => value !== null && value !== undefined);
      return [declared.id, canonicalJson(JSON.parse(JSON.stringify(Object.fromEntries(said))))];
    }),
  );

const WIDTH = Math.max(...KINDS.map((kind) => kind.length));

export const describePlanned = ({ sign, kind, id }: Change, note: string | null): string =>
  `  ${sign} ${kind.padEnd(WIDTH)} ${id}${note === null ? "" : `  (${note})`}`;

/** The tasks and actors that only a worker with the namespace tier runs. */
export const listIsolated = ({ tasks, actors = [] }: DeploymentManifest): string[] =>
  [...tasks, ...actors].filter(({ isolation }) => isolation === "namespace").map(({ id }) => id);

/** Names of secrets that entrypoints declare, each with the first that does. */
export function declaredSecrets({ tasks, actors = [] }: DeploymentManifest): Map<string, string> {
  const declared = new Map<string, string>();
  for (const { id, secrets = [] } of [...tasks, ...actors])
    for (const name of secrets) if (!declared.has(name)) declared.set(name, id);
  return declared;
}

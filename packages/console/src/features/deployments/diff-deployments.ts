import type { Deployment } from "@keelson/contract";

/** What a version declares, each under the name by which it is told from others of its kind. */
type Declarations = Pick<Deployment, "tasks" | "actors" | "schedules" | "sandboxes" | "queues">;

export type ChangeKind = "task" | "actor" | "schedule" | "sandbox" | "queue";
export type Change = {
  kind: ChangeKind;
  name: string;
  what: "added" | "removed" | "changed";
  /** Of a changed one, what differs, with both values as they are written. */
  members: readonly { name: string; before: unknown; after: unknown }[];
};

type Declared = Readonly<Record<string, unknown>>;

const KINDS: readonly [ChangeKind, (of: Declarations) => readonly (readonly [string, Declared])[]][] = [
  ["task", ({ tasks }) => tasks.map((one) => [one.id, one])],
  ["actor", ({ actors }) => actors.map((one) => [one.id, one])],
  ["schedule", ({ schedules }) => schedules.map((one) => [one.id, one])],
  ["sandbox", ({ sandboxes }) => sandboxes.map((one) => [one.id, one])],
  ["queue", ({ queues }) => queues.map((one) => [one.name, one])],
];

/** What is different in `to`, kind by kind and name by name. Their code may differ where nothing declared does. */
export function diffDeployments(from: Declarations, to: Declarations): Change[] {
  return KINDS.flatMap(([kind, declaredIn]) => {
    const before = new Map(declaredIn(from));
    const after = new Map(declaredIn(to));
    const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
    return names.flatMap((name): Change[] => {
      const [was, is] = [before.get(name), after.get(name)];
      if (was === undefined) return [{ kind, name, what: "added", members: [] }];
      if (is === undefined) return [{ kind, name, what: "removed", members: [] }];
      const members = changedMembers(was, is);
      return members.length === 0 ? [] : [{ kind, name, what: "changed", members }];
    });
  });
}

/** A member that is not given means the same as null. */
function changedMembers(before: Declared, after: Declared): Change["members"] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names.flatMap((name) => {
    const [was, is] = [before[name] ?? null, after[name] ?? null];
    return canonical(was) === canonical(is) ? [] : [{ name, before: was, after: is }];
  });
}

/** Equal values have the same text, whatever the order of their members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
}

/** `20261120.2` is newer than `20261120.1`, and than any of the day before. */
export function isOlder(one: string, other: string): boolean {
  const [day = "", count = "0"] = one.split(".");
  const [otherDay = "", otherCount = "0"] = other.split(".");
  return day === otherDay ? Number(count) < Number(otherCount) : day < otherDay;
}

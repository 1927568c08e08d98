/** What the addresses of the pages say. Anything else in them is left out. */

export const WORKSPACE_TABS = ["files", "changes", "history", "commands", "terminal"] as const;
export type WorkspaceTab = (typeof WORKSPACE_TABS)[number];

export type WorkspaceSearch = {
  /** Absent: `files`. */
  tab?: WorkspaceTab;
  /** Whose files or changes are shown. Absent: the current version, also when another becomes so. */
  version?: string;
  /** What the version is compared with. Absent: what it was made from. */
  base?: string;
  /** The file that is open. */
  path?: string;
  exec?: string;
  pty?: string;
};

export type ListSearch = {
  sandbox?: string;
  tag?: string;
  /** The dialog that creates one is open; a version's id: as its fork. */
  create?: string;
};

type Raw = Record<string, unknown>;

const textOf = <Name extends string>(raw: Raw, name: Name): { [key in Name]?: string } => {
  const value = raw[name];
  if (typeof value === "number") return { [name]: String(value) } as { [key in Name]?: string };
  return (typeof value === "string" && value !== "" ? { [name]: value } : {}) as { [key in Name]?: string };
};

const tabOf = ({ tab }: Raw): { tab?: WorkspaceTab } => {
  const known = WORKSPACE_TABS.find((name) => name === tab);
  return known === undefined ? {} : { tab: known };
};

export const readWorkspaceSearch = (raw: Raw): WorkspaceSearch => ({
  ...tabOf(raw),
  ...textOf(raw, "version"),
  ...textOf(raw, "base"),
  ...textOf(raw, "path"),
  ...textOf(raw, "exec"),
  ...textOf(raw, "pty"),
});

export const readListSearch = (raw: Raw): ListSearch => ({
  ...textOf(raw, "sandbox"),
  ...textOf(raw, "tag"),
  ...textOf(raw, "create"),
});

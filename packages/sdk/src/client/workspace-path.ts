/** The path of what belongs to a workspace. */
export const workspacePath = (id: string, rest = ""): string =>
  `/api/workspaces/${encodeURIComponent(id)}${rest}`;

/** The families that users of an environment call. What both have is written once, for either. */
export type SharedFamily = "v1" | "api";

export const pathIn = (family: SharedFamily, path: string): string => `/${family}${path}`;

/** `listTasks` of /v1 is `apiListTasks` of /api. */
export const operationIn = (family: SharedFamily, name: string): string =>
  family === "v1" ? name : `api${name.charAt(0).toUpperCase()}${name.slice(1)}`;

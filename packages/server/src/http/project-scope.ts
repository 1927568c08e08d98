import type { ProjectScope } from "./route.ts";

/** The environment of a route whose path names one. */
export function environmentOf({ environmentId }: ProjectScope): string {
  if (environmentId === null) throw new Error("The route's path names no environment.");
  return environmentId;
}

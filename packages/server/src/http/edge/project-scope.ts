import type { Uuid } from "@keelson/contract";
import type { ProjectScope } from "./route.ts";

/** The environment of a route whose path names one. */
export function environmentOf({ environmentId }: ProjectScope): Uuid<"env"> {
  if (environmentId === null) throw new Error("The route's path names no environment.");
  return environmentId;
}

import type { ExecuteResult } from "@keelson/contract";

/** Code of the run may still be at work in its process. */
export function leavesCode(result: ExecuteResult | undefined): boolean {
  if (result?.outcome === "suspended") return result.codeLeft !== false;
  return (result?.outcome === "failed" || result?.outcome === "continued") && result.codeLeft === true;
}

import { createHash } from "node:crypto";
import type { SandboxSpec } from "@keelson/contract";
import { canonicalJson } from "../idempotency/canonical-json.ts";

/** What a setup depends on: workspaces with the same digest may begin with the same base. Null without a setup. */
export function setupDigest({ setup, env, network, isolation }: SandboxSpec): Buffer | null {
  if (setup.length === 0) return null;
  return createHash("sha256").update(canonicalJson({ setup, env, network, isolation })).digest();
}

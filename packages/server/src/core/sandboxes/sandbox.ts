import type { SandboxDeclaration, SandboxSpec } from "@keelson/contract";

/**
 * A sandbox says what the workspaces made from it are like inside. Deployments declare sandboxes; the built-in one is
 * always there and may be declared anew. A workspace keeps the specification that it was made with.
 */
export function sandboxSpec(declaration: SandboxDeclaration | null): SandboxSpec {
  return {
    isolation: declaration?.isolation ?? "process",
    resources: {
      cpu: declaration?.resources?.cpu ?? null,
      memory: declaration?.resources?.memory ?? null,
    },
    env: declaration?.env ?? {},
    setup: declaration?.setup ?? [],
    network: declaration?.network ?? "on",
  };
}

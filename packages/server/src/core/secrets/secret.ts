import type { SecretStatus } from "@keelson/contract";

/**
 * The life of a secret.
 *
 * A name stands for a value; each new value is a version of its own and the newest counts. A revoked secret keeps its name
 * and its count and loses every value; putting a value revives it. A run's attempt keeps the versions it was first given.
 */
export const SECRET_EDGES = [
  { from: "active", on: "rotate, put", to: "active" },
  { from: "active", on: "revoke", to: "revoked" },
  { from: "revoked", on: "put", to: "active" },
] as const satisfies readonly { from: SecretStatus; on: string; to: SecretStatus }[];

export type SecretDecision = { kind: "none" } | { kind: "apply" } | { kind: "refuse"; message: string };

/** A new value by the secret's id: only what is in use is rotated. */
export function decideRotate(status: SecretStatus): SecretDecision {
  switch (status) {
    case "active":
      return { kind: "apply" };
    case "revoked":
      return {
        kind: "refuse",
        message:
          "The secret is revoked. Set a value under its name (PUT, or `keelson secret set`) to use it again.",
      };
  }
}

export function decideRevoke(status: SecretStatus): SecretDecision {
  switch (status) {
    case "active":
      return { kind: "apply" };
    case "revoked":
      return { kind: "none" };
  }
}

/** Why a run cannot be given a secret that it declares. */
export function missingSecretMessage(name: string, status: SecretStatus | null): string {
  switch (status) {
    case null:
      return `There is no secret ${name}, which the task declares. Set it with \`keelson secret set ${name}\`, and start again.`;
    case "revoked":
      return `The secret ${name}, which the task declares, is revoked. Set it with \`keelson secret set ${name}\`, and start again.`;
    case "active":
      return `The value of the secret ${name} that this attempt began with is gone: the secret was deleted or revoked meanwhile. Start again.`;
  }
}

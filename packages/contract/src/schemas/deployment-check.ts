import { Type, type Static } from "typebox";
import { Digest, Id, Nullable } from "./primitives.ts";

/** A worker boots a new deployment's bundle once, so that what cannot start is never promoted. */

/** A deployment to boot once without running anything; answered by `POST deployments/checked`. */
export const DeploymentCheck = Type.Object(
  {
    deployment_id: Id("dep"),
    environment_id: Id("env"),
    check_id: Type.String({
      description: "Fences the answer: only the newest check of a deployment counts.",
    }),
    bundle_digest: Digest,
    bundle_format_version: Type.Integer(),
  },
  { $id: "DeploymentCheck" },
);
export type DeploymentCheck = Static<typeof DeploymentCheck>;

export const DeploymentChecked = Type.Object(
  {
    deployment_id: Id("dep"),
    check_id: Type.String({ maxLength: 64 }),
    status: Type.Enum(["ready", "failed", "interrupted"], {
      description:
        "`interrupted`: infrastructure failed (a kill from outside, no process, no download), which says nothing of the bundle; it is checked again, at most eight times in all.",
    }),
    error: Type.Optional(
      Nullable(
        Type.Object(
          {
            message: Type.String({ maxLength: 8192 }),
            stack: Type.Optional(Nullable(Type.String({ maxLength: 65_536 }))),
          },
          { additionalProperties: false },
        ),
      ),
    ),
    entrypoints: Type.Optional(
      Type.Array(
        Type.Object(
          { kind: Type.Enum(["task", "actor"]), declared_id: Type.String({ maxLength: 128 }) },
          { additionalProperties: false },
        ),
        {
          maxItems: 2000,
          description:
            "The entrypoints that the bundle registered at boot; a manifest entry that is missing here fails the deployment.",
        },
      ),
    ),
  },
  { additionalProperties: false, $id: "DeploymentChecked" },
);
export type DeploymentChecked = Static<typeof DeploymentChecked>;

import { Type, type Static } from "typebox";
import { ISOLATIONS } from "../workspaces.ts";
import { DeclaredId, Id, Nullable, Timestamp } from "./primitives.ts";

const EnvironmentVariables = Type.Record(
  Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,127}$" }),
  Type.String({ maxLength: 32_768 }),
  { maxProperties: 200, additionalProperties: false },
);

const SandboxResources = Type.Object(
  {
    cpu: Type.Optional(
      Nullable(Type.Number({ minimum: 0.1, maximum: 256, description: "Cores; null is no limit." })),
    ),
    memory: Type.Optional(
      Nullable(Type.Integer({ minimum: 32, maximum: 1_048_576, description: "MiB; null is no limit." })),
    ),
  },
  { additionalProperties: false },
);

/** A sandbox as its author declared it: what the workspaces made from it are like inside. */
export const SandboxDeclaration = Type.Object(
  {
    id: DeclaredId,
    isolation: Type.Optional(
      Type.Enum([...ISOLATIONS], { description: "The least it accepts. Default `process`." }),
    ),
    resources: Type.Optional(Nullable(SandboxResources)),
    env: Type.Optional(Nullable(EnvironmentVariables)),
    setup: Type.Optional(
      Nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 32_768 }), {
          maxItems: 100,
          description: "Shell commands that build the base version, once for each content.",
        }),
      ),
    ),
    network: Type.Optional(Type.Enum(["on", "off"], { description: "Default `on`." })),
  },
  { additionalProperties: false, $id: "SandboxDeclaration" },
);
export type SandboxDeclaration = Static<typeof SandboxDeclaration>;

/** A declaration with its defaults filled in: what a workspace keeps from its creation on. */
export const SandboxSpec = Type.Object({
  isolation: Type.Enum([...ISOLATIONS]),
  resources: Type.Object({ cpu: Nullable(Type.Number()), memory: Nullable(Type.Integer()) }),
  env: Type.Record(Type.String(), Type.String()),
  setup: Type.Array(Type.String()),
  network: Type.Enum(["on", "off"]),
});
export type SandboxSpec = Static<typeof SandboxSpec>;

/** A sandbox of the current deployment, or the built-in `default`. The id is stable for (environment, declared id). */
export const Sandbox = Type.Object(
  {
    id: Id("sbx"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    declared_id: Type.String(),
    deployment_id: Nullable(Id("dep")),
    ...SandboxSpec.properties,
    created_at: Timestamp,
  },
  { $id: "Sandbox" },
);
export type Sandbox = Static<typeof Sandbox>;

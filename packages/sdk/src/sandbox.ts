import { DECLARED_ID_PATTERN, type Isolation } from "@keelson/contract/plain";
import { registry } from "./registry.ts";
import { UsageError } from "./keelson-error.ts";

/** The options of `sandbox()`. */
export type SandboxOptions = {
  /** Letters, digits, `.`, `_`, `-`; up to 128 characters. Declaring `default` changes the built-in sandbox. */
  id: string;
  /**
   * The isolation that its workspaces require. `namespace`: programs run in namespaces with a filter of system calls and
   * limits. `process` (default): programs are ordinary processes, which is no security boundary.
   */
  isolation?: Isolation;
  /** Limits for all programs of a workspace together. Default: none. */
  resources?: { cpu?: number; memoryMb?: number };
  /** Environment variables of every command. Not for secrets: they can be read back. */
  env?: Readonly<Record<string, string>>;
  /** Shell commands that create the first files of a workspace. They run once for each version of this declaration. */
  setup?: readonly string[];
  /** `off`: commands have no network. Default `on`. */
  network?: "on" | "off";
};

/** A declared sandbox. */
export type Sandbox = Readonly<SandboxOptions> & {
  /** Tells it from other declarations. */
  readonly kind: "sandbox";
};

/**
 * Declares a sandbox: the isolation, resources and set-up of its workspaces. Tasks name it in `sandbox`. Throws a
 * UsageError for an invalid id, and for an id that is declared twice.
 */
export function sandbox(options: SandboxOptions): Sandbox {
  if (!new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new UsageError(
      `sandbox(): ${JSON.stringify(options.id)} is not a sandbox id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  const { sandboxes } = registry();
  if (sandboxes.has(options.id))
    throw new UsageError(
      `sandbox(): "${options.id}" is declared twice; export it from one module and import it where it is used`,
    );
  const declared: Sandbox = Object.freeze({ ...options, kind: "sandbox" as const });
  sandboxes.set(options.id, declared);
  return declared;
}

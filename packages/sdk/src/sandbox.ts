import { DECLARED_ID_PATTERN, type Isolation } from "@keelson/contract/plain";
import { registry } from "./registry.ts";

/** What `sandbox()` is given. */
export type SandboxOptions = {
  /** Letters, digits, `.`, `_`, `-`; up to 128 characters. Declaring `default` changes the built-in sandbox. */
  id: string;
  /**
   * The least that workspaces of it accept. `namespace`: namespaces, a filter of system calls and limits around what
   * runs; `process` (default): the user's own processes, which is no security boundary.
   */
  isolation?: Isolation;
  /** Limits of everything that runs in a workspace together. Default: none. */
  resources?: { cpu?: number; memoryMb?: number };
  /** Environment variables of every command. Not for secrets: they can be read back. */
  env?: Readonly<Record<string, string>>;
  /** Shell commands that make what a new workspace begins with. They run once for each content of this declaration. */
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
 * Declares a sandbox: what the workspaces made from it are like inside. Tasks name it in `sandbox`.
 * Throws a TypeError for an id that cannot be used and an Error for one that is declared twice.
 */
export function sandbox(options: SandboxOptions): Sandbox {
  if (!new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new TypeError(
      `sandbox(): ${JSON.stringify(options.id)} is not a sandbox id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  const { sandboxes } = registry();
  if (sandboxes.has(options.id))
    throw new Error(
      `sandbox(): "${options.id}" is declared twice; export it from one module and import it where it is used`,
    );
  const declared: Sandbox = Object.freeze({ ...options, kind: "sandbox" as const });
  sandboxes.set(options.id, declared);
  return declared;
}

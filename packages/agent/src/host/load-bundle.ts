import { pathToFileURL } from "node:url";
import type { BundleModule } from "@keelson/contract";
import type { HostEntrypoint, Thrown } from "./frames.ts";

const FORMAT_VERSION = 1;

export type LoadedBundle = { module: BundleModule; entrypoints: HostEntrypoint[] };

/** Imports a bundle and reads what it registered; throws what the bundle threw, or says what is wrong with it. */
export async function loadBundle(path: string): Promise<LoadedBundle> {
  const imported = (await import(pathToFileURL(path).href)) as { keelson?: Partial<BundleModule> };
  const module = imported.keelson;
  if (module === undefined)
    throw new TypeError("The bundle has no export `keelson`; build it with `keelson deploy`.");
  if (module.formatVersion !== FORMAT_VERSION) {
    throw new TypeError(
      `The bundle has format version ${String(module.formatVersion)}; this worker runs version ${FORMAT_VERSION}.`,
    );
  }
  if (typeof module.execute !== "function" || typeof module.manifest !== "function") {
    throw new TypeError(
      "The bundle's export `keelson` lacks `execute` or `manifest`; build it with `keelson deploy`.",
    );
  }
  const manifest = module.manifest();
  const entrypoints: HostEntrypoint[] = [
    ...manifest.tasks.map(({ id }) => ({ kind: "task" as const, declared_id: id })),
    ...(manifest.actors ?? []).map(({ id }) => ({ kind: "actor" as const, declared_id: id })),
  ];
  return { module: module as BundleModule, entrypoints };
}

/** Anything can be thrown; this is what can be shown of it. */
export function describeThrown(thrown: unknown): Thrown {
  if (thrown instanceof Error) {
    const causes =
      thrown.cause === undefined
        ? ""
        : `\nCaused by: ${describeThrown(thrown.cause).stack ?? describeThrown(thrown.cause).message}`;
    return {
      message: thrown.message === "" ? thrown.name : thrown.message,
      stack: thrown.stack === undefined ? null : thrown.stack + causes,
    };
  }
  try {
    return {
      message: `A value that is no Error was thrown: ${typeof thrown === "string" ? thrown : JSON.stringify(thrown)}`,
      stack: null,
    };
  } catch {
    return { message: `A value of type ${typeof thrown} was thrown.`, stack: null };
  }
}

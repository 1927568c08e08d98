// Objects beside the types of Kubernetes' API, where these are installed: it ignores a field that is misspelt or in a wrong place.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root, type Data } from "./read-deployment.ts";

const TYPES = path.join(root, "node_modules/kubernetes-models");

/** Why nothing can be checked here, or false. */
export const withoutTypes: string | false =
  !existsSync(TYPES) && "kubernetes-models is not installed here (npm install --no-save kubernetes-models)";

/** Kinds that extensions of Kubernetes bring have no types here. */
export const hasType = ({ apiVersion, kind }: Data): boolean =>
  existsSync(path.join(TYPES, apiVersion, `${kind}.d.ts`));

/** What the compiler finds when each object is declared as one of its kind. */
export function checkTypes(objects: readonly Data[]): string {
  // In the checkout, so that the types are found from there; git ignores it.
  const folder = path.join(root, "test-output/kubernetes");
  mkdirSync(folder, { recursive: true });
  try {
    const lines = objects.map(
      (object, index) =>
        `export const o${index}: import("kubernetes-models/${object.apiVersion}/${object.kind}").I${object.kind} = ${JSON.stringify(object, null, 1)};`,
    );
    const file = path.join(folder, "objects.ts");
    writeFileSync(file, lines.join("\n"));
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--ignoreConfig"];
    const { stdout } = spawnSync(
      path.join(root, "node_modules/.bin/tsc"),
      [...options, "--module", "nodenext", "--target", "esnext", file],
      { encoding: "utf8", cwd: folder },
    );
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

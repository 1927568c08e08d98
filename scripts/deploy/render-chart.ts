// The chart as Helm renders it, on machines that have Helm.

import { spawnSync } from "node:child_process";
import path from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { CHART } from "./read-chart.ts";
import { root, type Data } from "./read-deployment.ts";

const RELEASE = "team";

const run = (
  args: readonly string[],
  values: Data,
): { code: number | null; stdout: string; stderr: string } => {
  const { status, stdout, stderr } = spawnSync(
    "helm",
    [...args, path.join(root, CHART), "--values", "-", "--namespace", "keelson"],
    { input: stringify(values), encoding: "utf8" },
  );
  return { code: status, stdout, stderr };
};

/** Why nothing can be rendered here, or false. */
export const withoutHelm: string | false =
  spawnSync("helm", ["version"]).status !== 0 && "helm is not installed here";

/** The objects of a release with these values. */
export function render(values: Data): Data[] {
  const { code, stdout, stderr } = run(["template", RELEASE], values);
  if (code !== 0) throw new Error(stderr);
  const documents = parseAllDocuments(stdout);
  for (const { errors } of documents) if (errors[0] !== undefined) throw errors[0];
  return documents.map((document) => document.toJS()).filter((one) => one !== null);
}

/** What Helm says of values that cannot be installed: its first line. */
export function refusal(values: Data): string {
  const { code, stderr } = run(["template", RELEASE], values);
  if (code === 0) throw new Error("it was rendered");
  return stderr.trim();
}

/** What `helm lint` finds. */
export const lint = (values: Data): string => {
  const { code, stdout, stderr } = run(["lint", "--strict"], values);
  return code === 0 ? "" : stdout + stderr;
};

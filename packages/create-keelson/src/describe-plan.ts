import type { Plan, PlannedFile } from "./plan-project.ts";

const WORDS: Record<PlannedFile["action"], string> = { create: "create", change: "change", keep: "keep  " };

/** A line per file. */
export const describePlan = ({ files }: Plan): string =>
  files.map(({ name, action }) => `  ${WORDS[action]}  ${name}`).join("\n");

/** The commands that come next, in their order. */
export function nextSteps({ isNew }: Plan, isInstalled: boolean, packageManager = "npm"): string {
  const script = (name: string): string => `${packageManager} run ${isNew ? "" : "keelson:"}${name}`;
  const start = `npx keelson task start hello --payload '{"name": "Ada"}' --follow`;
  const width = Math.max(...["up", "dev"].map((name) => script(name).length)) + 4;
  return [
    ...(isInstalled ? [] : [`  ${packageManager} install`]),
    `  ${script("up").padEnd(width)}# starts Keelson on this machine`,
    `  ${script("dev").padEnd(width)}# in a second terminal: deploys the tasks at every change`,
    `  ${start}`,
  ].join("\n");
}

import type { Plan, PlannedFile } from "./plan-project.ts";

const WORDS: Record<PlannedFile["action"], string> = { create: "create", change: "change", keep: "keep  " };

/** A line per file. */
export const describePlan = ({ files }: Plan): string =>
  files.map(({ name, action }) => `  ${WORDS[action]}  ${name}`).join("\n");

/** How the project starts `keelson up` or `dev`: by the script that has it, whatever the script's name is. */
function commandFor(name: string, { files }: Plan, packageManager: string): string {
  const text = files.find((file) => file.name === "package.json")?.text ?? "{}";
  const { scripts = {} } = JSON.parse(text.replace(/^\uFEFF/, "")) as { scripts?: Record<string, string> };
  const script = Object.keys(scripts).find((key) => scripts[key] === `keelson ${name}`);
  return script === undefined ? `npx keelson ${name}` : `${packageManager} run ${script}`;
}

/** The commands that come next, in their order. */
export function nextSteps(plan: Plan, isInstalled: boolean, packageManager = "npm"): string {
  const script = (name: string): string => commandFor(name, plan, packageManager);
  const start = `npx keelson task start hello --payload '{"name": "Ada"}' --follow`;
  const width = Math.max(...["up", "dev"].map((name) => script(name).length)) + 4;
  return [
    ...(isInstalled ? [] : [`  ${packageManager} install`]),
    `  ${script("up").padEnd(width)}# starts Keelson on this machine`,
    `  ${script("dev").padEnd(width)}# in a second terminal: deploys the tasks at every change`,
    `  ${start}`,
  ].join("\n");
}

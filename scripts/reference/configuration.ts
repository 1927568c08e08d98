import { AGENT_SETTINGS } from "../../packages/agent/src/settings.ts";
import { SETTINGS } from "../../packages/server/src/settings.ts";
import { page, table } from "./markdown.ts";

type Setting = { name: string; byDefault: string | null; description: string; secret?: true };

function settingsTable(settings: readonly Setting[]): string {
  const rows = settings.map(({ name, byDefault, description, secret }) => [
    `\`${name}\`${secret === true ? `, \`${name}_FILE\`` : ""}`,
    byDefault === null ? "" : `\`${byDefault}\``,
    description,
  ]);
  return table([["variable", "default", "meaning"], ...rows]);
}

export function configurationPage(): string {
  const refusal =
    "A variable that begins with `KEELSON_` and is not known, or a value that cannot be used, ends the start with exit code 78\n" +
    "and one line that says why. A `_FILE` variable names a file that holds the value.";
  return page(
    "Configuration",
    refusal,
    "## The server",
    settingsTable(Object.values(SETTINGS)),
    "## The agent",
    settingsTable(Object.values(AGENT_SETTINGS)),
  );
}

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export type Config = { url: string; apiKey: string; port: number };

/**
 * KEELSON_URL and KEELSON_API_KEY, else what `npm start` has left in `.keelson/examples.json` here or in a folder above: the
 * examples have a project of their own, with a key of its own. CHAT_PORT is where the page is served, 4480 by default.
 */
export function readConfig(env: NodeJS.ProcessEnv, cwd: string): Config {
  const port = Number(env["CHAT_PORT"] || 4480);
  const { KEELSON_URL: url, KEELSON_API_KEY: apiKey } = env;
  if (url && apiKey) return { url, apiKey, port };
  for (let folder = cwd; ; folder = dirname(folder)) {
    try {
      const file = readFileSync(join(folder, ".keelson/examples.json"), "utf8");
      const found = JSON.parse(file) as { url: string; api_key: string };
      return { url: found.url, apiKey: found.api_key, port };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      if (dirname(folder) === folder)
        throw new Error("No server: run `npm start` first, or set KEELSON_URL and KEELSON_API_KEY", {
          cause: error,
        });
    }
  }
}

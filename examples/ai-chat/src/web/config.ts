import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export type Config = { url: string; apiKey: string; port: number };

const FILE = ".keelson/credentials.json";

/**
 * KEELSON_URL and KEELSON_API_KEY, else what `npm start` has left in `.keelson/credentials.json` here or in a folder above.
 * AI_CHAT_PORT is where the page is served, 4490 by default.
 */
export function readConfig(env: NodeJS.ProcessEnv, cwd: string): Config {
  const port = Number(env["AI_CHAT_PORT"] || 4490);
  const { KEELSON_URL: url, KEELSON_API_KEY: apiKey } = env;
  if (url && apiKey) return { url, apiKey, port };
  for (let folder = cwd; ; folder = dirname(folder)) {
    try {
      const found = JSON.parse(readFileSync(join(folder, FILE), "utf8")) as { url: string; api_key: string };
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

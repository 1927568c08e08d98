import { build } from "esbuild";

/** The page's code and `@keelson/sdk/browser` as one script. */
export async function bundlePage(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    // In a checkout the SDK is its sources.
    conditions: ["@keelson/source"],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

import { build } from "esbuild";

/** The page's code, React, the AI SDK and the SDK's entries for pages as one script. */
export async function bundlePage(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    // In a checkout the SDK is its sources.
    conditions: ["@keelson/source"],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

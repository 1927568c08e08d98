// `npm run release -- <version> [--dry-run]`: gives everything one version and packs it. Publishing is left to a person.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { planRelease } from "./release/plan-release.ts";
import { root } from "./pack/staging.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "dry-run": { type: "boolean" } },
});
const [version] = positionals;
if (version === undefined || positionals.length > 1) {
  console.error("Usage: npm run release -- <version> [--dry-run]");
  process.exit(2);
}

try {
  const edits = planRelease(root, version, new Date().toISOString().slice(0, 10));
  const isDry = values["dry-run"] === true;
  console.error(`${isDry ? "A release would set" : "Setting"} ${version} in:`);
  for (const { file, text } of edits) {
    console.error(`  ${file}`);
    if (!isDry) writeFileSync(path.join(root, file), text);
  }
  // A dry run packs as well, at the present version: what cannot be packed is known before anything is changed.
  const { status } = spawnSync(process.execPath, [...process.execArgv, path.join(root, "scripts/pack.ts")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0) throw new Error("The packages could not be packed; what failed is above.");
  console.error(
    isDry
      ? "\nNothing was changed. The tarballs above have the present version."
      : `\nNext:\n  npm run generate && npm run verify\n  git commit -am "Release ${version}" && git tag v${version}\n  npm publish <each tarball above>`,
  );
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

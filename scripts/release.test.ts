import assert from "node:assert/strict";
import { test } from "node:test";
import { planRelease } from "./release/plan-release.ts";
import { readPackage, root } from "./pack/staging.ts";

const DATE = "2026-12-01";
const plan = (version: string): Map<string, string> =>
  new Map(planRelease(root, version, DATE).map(({ file, text }) => [file, text]));

test("a release gives one version to every package, the code, the chart and the lock file", () => {
  const edits = plan("99.0.0");
  const packages = [...edits.keys()].filter((file) => file.endsWith("package.json"));
  assert.ok(packages.length >= 13, packages.join(", "));
  for (const file of packages) {
    const text = edits.get(file) ?? "";
    assert.match(text, /"version": "99\.0\.0"/, file);
    assert.doesNotMatch(text, /"@keelson\/(?!source)[a-z-]+": "(?!99\.0\.0")/, file);
  }
  for (const name of ["sdk", "cli", "create-keelson"])
    assert.match(edits.get(`packages/${name}/src/version.ts`) ?? "", /VERSION = "99\.0\.0"/);
  assert.match(
    edits.get("deploy/helm/keelson/Chart.yaml") ?? "",
    /^version: 99\.0\.0\nappVersion: 99\.0\.0$/m,
  );
  assert.match(edits.get("CHANGELOG.md") ?? "", /## Unreleased\n\n## 99\.0\.0 \(2026-12-01\)\n/);
  const { version, packages: locked } = JSON.parse(edits.get("package-lock.json") ?? "") as {
    version: string;
    packages: Record<string, { version?: string }>;
  };
  assert.equal(version, "99.0.0");
  for (const [place, entry] of Object.entries(locked))
    assert.equal(entry.version === "99.0.0", !place.includes("node_modules/"), place);
});

test("what is no version, or comes not after the present one, is refused", () => {
  const { version } = readPackage(".");
  assert.throws(() => plan("next"), /next is no version: write it like/);
  assert.throws(() => plan("v1.0.0"), /is no version/);
  assert.throws(() => plan(version), /does not come after/);
  assert.throws(() => plan("0.0.9"), /does not come after/);
});

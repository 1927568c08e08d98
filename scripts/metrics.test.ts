// What the dashboard, the alerts and the page about watching say of metrics, against what servers and agents show.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { before, describe, test } from "node:test";
import { parse } from "yaml";
import { bundleOf } from "../packages/agent/test/support/bundles.ts";
import { startTestAgent } from "../packages/agent/test/support/start-test-agent.ts";
import { thisFile } from "../packages/agent/test/support/test-place.ts";
import { readMetrics, type ReadMetrics } from "../packages/server/test/support/read-metrics.ts";
import { until } from "../packages/server/test/support/until.ts";

const readText = (file: string): string => readFileSync(path.join(import.meta.dirname, "..", file), "utf8");

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } };
type Panel = { title: string; targets: { expr: string }[] };

const rules = (
  parse(readText("deploy/prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(readText("deploy/grafana/keelson.json")) as { panels: Panel[] };

/** Metrics that a query names, histograms by their own name. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/\b((?:keelson|nodejs|process)_[a-z0-9_]+)/g)].map(([, name = ""]) =>
    name.replace(/_(bucket|sum|count)$/, ""),
  );

/** Labels by which a query selects a metric: `name{label="…"}`. */
const selectorsIn = (text: string): { name: string; labels: string[] }[] =>
  [...text.matchAll(/\b(keelson_[a-z0-9_]+)\{([^}]*)\}/g)].map(([, name = "", inBraces = ""]) => ({
    name,
    labels: [...inBraces.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label),
  }));

let ofServer: ReadMetrics;
let ofAgent: ReadMetrics;

describe("metrics", () => {
  before(async () => {
    const { logged, server: on } = await startTestAgent(thisFile, {
      metrics: { host: "127.0.0.1", port: 0 },
    });
    const digest = on.putBundle(bundleOf({ good: "return 1;", bad: `throw new Error("boom");` }));
    await Promise.all(["good", "bad"].map((task) => on.enqueue({ digest, task }).released));
    const served = logged.find(({ message }) => message === "metrics are served");
    assert.ok(served !== undefined);
    const scrape = async (url: string): Promise<ReadMetrics> => readMetrics(await (await fetch(url)).text());
    await until("the ends are confirmed", 60_000, async () => {
      ofAgent = await scrape(`http://127.0.0.1:${served.fields["port"] as number}/metrics`);
      return ofAgent.valueOf("keelson_agent_attempts_ended_total") === 2;
    });
    await until("a loop has had a round", 60_000, async () => {
      ofServer = await scrape(`${on.group.server.url}/metrics`);
      return (ofServer.valueOf("keelson_loop_rounds_total") ?? 0) > 0;
    });
  });
  const isShown = (name: string): boolean => ofServer.names.has(name) || ofAgent.names.has(name);

  test("count with counters, which end with _total, and no gauge does", () => {
    for (const { types } of [ofServer, ofAgent])
      for (const [name, type] of types)
        if (name.startsWith("keelson_")) assert.equal(type === "counter", name.endsWith("_total"), name);
  });

  test("of the alerts exist, and each alert says what to do", () => {
    assert.ok(rules.length > 0);
    for (const { alert, expr, annotations, labels } of rules) {
      assert.ok(["warning", "critical"].includes(labels.severity), alert);
      assert.match(annotations.summary, /^\S.*\. \S.*\.$/, alert);
      assert.ok(/\bup\b/.test(expr) || namesIn(expr).length > 0, alert);
      for (const name of namesIn(expr)) assert.ok(isShown(name), `${alert}: there is no ${name}`);
    }
    const snapshot = rules.find(({ alert }) => alert === "KeelsonSnapshotHeld");
    assert.match(snapshot?.expr ?? "", /> 120$/);
  });

  test("of the dashboard exist", () => {
    assert.ok(panels.length >= 12 && panels.length <= 16, `${panels.length} panels`);
    for (const { title, targets } of panels)
      for (const { expr } of targets) {
        assert.ok(namesIn(expr).length > 0, title);
        for (const name of namesIn(expr)) assert.ok(isShown(name), `${title}: there is no ${name}`);
      }
  });

  test("have the labels by which alerts and dashboard select them", () => {
    const exprs = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map((target) => target.expr)),
    ];
    for (const { name, labels } of exprs.flatMap(selectorsIn)) {
      const samples = [...ofServer.labelsOf(name), ...ofAgent.labelsOf(name)];
      // What nothing has happened to yet has no sample.
      for (const label of samples.length === 0 ? [] : labels)
        assert.ok(
          samples.some((sample) => label in sample),
          `${name} has no label ${label}`,
        );
    }
  });

  test("of Keelson are all in the tables of the page, and no others", () => {
    const inTables = [
      ...readText("docs/operations.md").matchAll(/^\| `((?:keelson|nodejs|process)_[a-z0-9_]+)`/gm),
    ].map(([, name = ""]) => name);
    const ofKeelson = [...ofServer.names, ...ofAgent.names].filter((name) => name.startsWith("keelson_"));
    assert.deepEqual(inTables.filter((name) => name.startsWith("keelson_")).toSorted(), ofKeelson.toSorted());
    for (const name of inTables) assert.ok(isShown(name), name);
  });
});

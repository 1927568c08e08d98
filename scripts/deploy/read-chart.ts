// The Helm chart as data: what can be known of it without Helm.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { readText, readYaml, root, type Data } from "./read-deployment.ts";

export const CHART = "deploy/helm/keelson";

export type Template = { name: string; text: string; documents: Data[] };

/**
 * The chart's templates, and what of them is YAML when every condition holds and every list is left out: enough to see
 * structure, probes, ports and names. Helpers and notes are text alone. Rendering is Helm's.
 */
export function readTemplates(): Template[] {
  const folder = path.join(root, CHART, "templates");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => /\.(yaml|tpl|txt)$/.test(name))
    .sort()
    .map((name) => {
      const text = readFileSync(path.join(folder, name), "utf8");
      return { name, text, documents: name.endsWith(".yaml") ? skeletonsOf(text) : [] };
    });
}

function skeletonsOf(text: string): Data[] {
  const isDirective = /^\s*\{\{-?.*-?\}\}\s*$/;
  const lines = text.split("\n").filter((line) => !isDirective.test(line));
  const documents = parseAllDocuments(lines.join("\n").replaceAll(/\{\{.*?\}\}/g, "x"));
  for (const { errors } of documents) if (errors[0] !== undefined) throw errors[0];
  return documents.map((document) => document.toJS()).filter((one) => one !== null);
}

export const chart = (): { about: Data; values: Data; schema: Data } => ({
  about: readYaml(`${CHART}/Chart.yaml`),
  values: readYaml(`${CHART}/values.yaml`),
  schema: JSON.parse(readText(`${CHART}/values.schema.json`)),
});

/** Values over values, as Helm lays them: objects key by key, all else as a whole. */
export function overlay(below: Data, above: Data): Data {
  if (!isObject(below) || !isObject(above)) return above;
  const merged = { ...below };
  for (const [key, value] of Object.entries(above))
    merged[key] = key in below ? overlay(below[key], value) : value;
  return merged;
}

export const isObject = (value: Data): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A part of the schema, a reference followed. */
export const resolveSchema = (schema: Data, part: Data): Data =>
  typeof part?.$ref === "string" ? schema.definitions[part.$ref.replace("#/definitions/", "")] : part;

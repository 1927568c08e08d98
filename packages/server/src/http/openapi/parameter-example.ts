import { EXAMPLE_IDS } from "@keelson/contract";
import type { JsonSchema } from "./components.ts";
import { exampleOf } from "./example-of.ts";

/** What stands for a path's parameter, by the part of the path before it. */
const BY_COLLECTION: Record<string, string> = {
  actors: EXAMPLE_IDS.actor,
  "api-keys": EXAMPLE_IDS.key,
  "audit-events": EXAMPLE_IDS.aud,
  callback: "kl_tkn_0000000000000000000000000000000000000",
  blobs: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  bundles: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "bulk-actions": EXAMPLE_IDS.bulk,
  "deployment-bundles": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  deployments: EXAMPLE_IDS.dep,
  "enrollment-tokens": EXAMPLE_IDS.enr,
  "error-groups": EXAMPLE_IDS.err,
  environments: EXAMPLE_IDS.env,
  exec: EXAMPLE_IDS.exec,
  execs: EXAMPLE_IDS.exec,
  files: EXAMPLE_IDS.file,
  inputs: "input",
  invitations: EXAMPLE_IDS.inv,
  members: EXAMPLE_IDS.user,
  "oauth-grants": EXAMPLE_IDS.ogr,
  organizations: EXAMPLE_IDS.org,
  outputs: "output",
  projects: EXAMPLE_IDS.proj,
  pty: EXAMPLE_IDS.pty,
  runs: EXAMPLE_IDS.run,
  sandboxes: EXAMPLE_IDS.sbx,
  "saved-views": EXAMPLE_IDS.view,
  schedules: EXAMPLE_IDS.sched,
  secrets: EXAMPLE_IDS.sec,
  sessions: EXAMPLE_IDS.sess,
  tasks: EXAMPLE_IDS.task,
  tokens: EXAMPLE_IDS.tok,
  users: EXAMPLE_IDS.user,
  versions: EXAMPLE_IDS.wsv,
  "worker-groups": EXAMPLE_IDS.wgrp,
  workers: EXAMPLE_IDS.wkr,
  workspaces: EXAMPLE_IDS.ws,
};

/** Where the name of the parameter says more than its place. */
const BY_PLACE: Record<string, string> = {
  "tasks/declaredID": "send-report",
  "actors/declaredID": "support-chat",
  "inputs/sequence": "3",
  ":stream/sequence": "3",
  "secrets/name": "MAIL_API_KEY",
};

/** @throws Error for a parameter of which nothing is known */
export function pathParameterExample(path: string, name: string): string {
  const parts = path.split("/");
  const collection = parts[parts.indexOf(`:${name}`) - 1] ?? "";
  const example = BY_PLACE[`${collection}/${name}`] ?? BY_COLLECTION[collection];
  if (example === undefined) throw new Error(`No example is known for :${name} of ${path}; add one here.`);
  return example;
}

/** Of query parameters, those that must be given, and what users name the environment by. */
const QUERY: Record<string, unknown> = {
  environment_id: EXAMPLE_IDS.env,
  external_id: "chat-4711",
  path: "src/main.ts",
  token: "kl_lnk_0000000000000000000000000000000000000",
  user_code: "BCDF-GHJK",
};

export const queryParameterExample = (name: string, schema: JsonSchema): unknown =>
  QUERY[name] ?? exampleOf(schema, () => ({}), name);

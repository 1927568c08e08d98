import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { API_VERSION, encodeId, StartTask } from "@keelson/contract";
import type { Ajv as AjvClass } from "ajv";

/**
 * The server of F4: what answering the same POST costs when nothing is stored. It reads the body, parses it, checks it
 * by the compiled schema of a task start, and answers a run of the same shape, with no router, no authentication and
 * no database. Prints nothing; sends its port over the message channel.
 */
const require = createRequire(import.meta.url);
const { Ajv } = require("ajv") as { Ajv: typeof AjvClass };
const addFormats = require("ajv-formats") as { default: (ajv: AjvClass) => void };

const ajv = new Ajv({ strict: false });
addFormats.default(ajv);
const isStart = ajv.compile(StartTask);
const TASK_PATH = /^\/v1\/tasks\/([A-Za-z0-9][A-Za-z0-9._-]{0,127})\/start$/;
const projectId = encodeId("proj", "01900000-0000-7000-8000-000000000001");
const environmentId = encodeId("env", "01900000-0000-7000-8000-000000000002");
const deploymentId = encodeId("dep", "01900000-0000-7000-8000-000000000003");

let counter = 0;
const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const task = TASK_PATH.exec(request.url ?? "")?.[1];
    const body = parse(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
    const refused = task === undefined || request.method !== "POST" || !isStart(body);
    const text = refused
      ? '{"error":{"code":"invalid_request"}}'
      : JSON.stringify(runOf(task, body as StartTask));
    response.writeHead(refused ? 400 : 201, {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
      "service-api-version": API_VERSION,
      "x-request-id": `bare-${counter}`,
    });
    response.end(text);
  });
});

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined; // Not JSON is not a start: answered with 400.
  }
}

function runOf(task: string, body: StartTask): unknown {
  counter += 1;
  const now = new Date().toISOString();
  return {
    id: encodeId("run", `01900000-0000-7000-8000-${counter.toString(16).padStart(12, "0")}`),
    project_id: projectId,
    environment_id: environmentId,
    task,
    actor: null,
    session_id: null,
    turn: null,
    status: "queued",
    status_reason: null,
    attempt_number: null,
    max_attempts: 3,
    retry: { max_attempts: 3, initial_delay: "1s", max_delay: "1m", factor: 2, jitter: true },
    deployment_id: deploymentId,
    deployment_version: "20261120.1",
    workspace_id: null,
    payload: body.payload ?? null,
    output: null,
    failure: null,
    pending_wait: null,
    queue: body.queue ?? "default",
    concurrency_key: body.concurrency_key ?? null,
    priority: body.priority ?? 0,
    max_duration: body.max_duration ?? null,
    metadata: body.metadata ?? {},
    tags: body.tags ?? [],
    schedule_id: null,
    parent_run_id: null,
    client_version: null,
    cli_version: null,
    sdk_version: null,
    start_at: null,
    started_at: null,
    finished_at: null,
    expires_at: null,
    created_at: now,
    updated_at: now,
  };
}

server.listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.({ port: (server.address() as AddressInfo).port });
process.on("disconnect", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));

import {
  DEPLOYMENT_EVENT_KINDS,
  RUN_EVENT_ATTRIBUTES,
  RUN_EVENT_KINDS,
  RunEvent,
  type DeploymentEventKind,
} from "../../packages/contract/src/index.ts";
import { code, page, table } from "./markdown.ts";
import { fieldTable, type Schema } from "./schema-fields.ts";

/** Attributes may grow, so none is told as optional. */
const attributes = (schema: Schema): string =>
  Object.keys(schema.properties ?? {}).length === 0 ? "No attributes." : fieldTable(schema, "attribute");

const DEPLOYMENT_EVENTS: Record<DeploymentEventKind, [when: string, attributes: string]> = {
  "deployment.created": ["The version was made; a worker is about to load its bundle.", "`version`"],
  "deployment.ready": ["A worker has loaded the bundle and found what the manifest declares.", ""],
  "deployment.failed": ["No worker could load the bundle, or something declared is missing.", ""],
  "deployment.promoted": ["The version is the environment's current one now.", "`version`"],
  "deployment.demoted": ["Another version took its place.", "`replaced_by`: that version"],
};

const STREAMS = [
  ["event", "its data", "its id", "of"],
  ["`run_event`", "a run event", "the event's `id`", "`GET /api/runs/{id}/events`"],
  ["`run_log`", "a chunk of a run's log, base64", "the chunk's `id`", "`GET /api/runs/{id}/logs`"],
  [
    "`record`",
    "a record of a stream",
    "its `sequence`",
    "`GET …/outputs/{stream}/read`, `…/inputs/{stream}/read`",
  ],
  [
    "`chunk`",
    "bytes of an output, base64",
    "the offset after them",
    "`GET …/execs/{exec_id}/stdout`, `…/stderr`, `…/pty/{pty_id}/output`",
  ],
  ["`deployment_event`", "a deployment event", "the event's `id`", "`GET /api/deployments/{id}/events`"],
  [
    "`gap`",
    '`{"earliest_cursor": "12"}`: what was before it is no longer kept',
    "that cursor",
    "all of them",
  ],
  ["`end`", "the state in which it ended: nothing follows", "the last cursor", "all of them"],
  ["`error`", "the `error` of [an error body](errors.md): reconnect later", "", "all of them"],
];

const RUN_EVENTS = `What a run did, in order, is a list of events: \`GET /v1/runs/{id}/events\`, \`client.runs.events(id)\` or
\`keelson run events\`. Each has its \`kind\`, a \`message\` for people, a \`severity\`, the \`attempt_number\` it belongs to (null
before the first), and \`attributes\`, which depend on the kind. \`id\` is the cursor, 1 for the first event of the run.

\`\`\`json
${JSON.stringify((RunEvent as unknown as Schema).examples?.[0], null, 2)}
\`\`\`

More kinds and more attributes may come with later versions: pass over what you do not know.`;

export function eventsPage(): string {
  const runEvents = RUN_EVENT_KINDS.map((kind) => {
    const schema = RUN_EVENT_ATTRIBUTES[kind] as Schema;
    return [`### ${kind}`, schema.description ?? "", attributes(schema)].join("\n\n");
  });
  const deploymentRows = DEPLOYMENT_EVENT_KINDS.map((kind) => [code(kind), ...DEPLOYMENT_EVENTS[kind]]);
  return page(
    "Events",
    "## Run events",
    RUN_EVENTS,
    ...runEvents,
    "## Deployment events",
    "`GET /v1/deployments/{id}/events`, `client.deployments.events(id)` or `keelson deployment events`.",
    table([["kind", "when", "attributes"], ...deploymentRows]),
    "## Events of streams",
    "With `follow=1` or `Accept: text/event-stream` these routes answer with server-sent events. Go on after a lost connection " +
      "with the last id as `Last-Event-ID`, or as `cursor`. The SDK does it on its own.",
    table(STREAMS),
  );
}

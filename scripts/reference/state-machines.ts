import { DEPLOYMENT_EDGES } from "../../packages/server/src/core/deployments/deployment.ts";
import { INVITATION_EDGES } from "../../packages/server/src/core/identity/identity.ts";
import { DEVICE_EDGES } from "../../packages/server/src/core/logins/login.ts";
import { MATERIALIZATION_EDGES } from "../../packages/server/src/core/materializations/materialization.ts";
import { RUN_EDGES } from "../../packages/server/src/core/runs/run.ts";
import { SCHEDULE_EDGES } from "../../packages/server/src/core/schedules/schedule.ts";
import { SECRET_EDGES } from "../../packages/server/src/core/secrets/secret.ts";
import { TOKEN_EDGES } from "../../packages/server/src/core/tokens/token.ts";
import { SESSION_EDGES } from "../../packages/server/src/core/sessions/session.ts";
import { WAIT_EDGES } from "../../packages/server/src/core/waits/wait.ts";
import { EXEC_EDGES, PTY_EDGES } from "../../packages/server/src/core/processes/processes.ts";
import { WORKER_EDGES } from "../../packages/server/src/core/workers/worker.ts";
import { WORKSPACE_EDGES } from "../../packages/server/src/core/workspaces/workspace.ts";
import { page, table } from "./markdown.ts";

type Edge = { from: string; on: string; to: string };

function stateMachine(title: string, life: string, edges: readonly Edge[]): string {
  const lines = edges.map(({ from, on, to }) => `    ${from} --> ${to}: ${on}`);
  const ends = [...new Set(edges.map(({ to }) => to))].filter(
    (state) => !edges.some(({ from }) => from === state),
  );
  const rows = edges.map(({ from, on, to }) => [`\`${from}\``, on, `\`${to}\``]);
  return [
    `## ${title}`,
    life,
    ["```mermaid", "stateDiagram-v2", ...lines, ...ends.map((end) => `    ${end} --> [*]`), "```"].join("\n"),
    table([["from", "on", "to"], ...rows]),
  ].join("\n\n");
}

export function stateMachinesPage(): string {
  const machines = [
    stateMachine("Run", "A run starts as `queued`. What has ended never changes again.", RUN_EDGES),
    stateMachine(
      "Session",
      "A session starts as `open`, with its first run. What has ended never opens again; its external id is free.",
      SESSION_EDGES,
    ),
    stateMachine(
      "Deployment",
      "A deployment starts as `pending` until a worker has booted its bundle once. Only a ready one can be promoted.",
      DEPLOYMENT_EDGES,
    ),
    stateMachine(
      "Wait",
      "What a run waits for. A wait may settle at once; its first outcome is its last.",
      WAIT_EDGES,
    ),
    stateMachine("Completion token", "A token starts as `pending` and leaves that once.", TOKEN_EDGES),
    stateMachine(
      "Schedule",
      "A schedule starts as `active`, or `inactive` when it is made so. It is `errored` while it is active and its task cannot be started. A `removed` one is not shown; it keeps its ledger.",
      SCHEDULE_EDGES,
    ),
    stateMachine("Secret", "A secret starts as `active`. A revoked one has no value.", SECRET_EDGES),
    stateMachine(
      "Worker",
      "A worker starts as `registered`. It also looks `lost` while nothing has been heard of it; that is not stored.",
      WORKER_EDGES,
    ),
    stateMachine(
      "Workspace",
      "A workspace starts as `active`. Its versions have no states: they are there, whole, or they are not.",
      WORKSPACE_EDGES,
    ),
    stateMachine(
      "Materialization",
      "A workspace on a machine starts as `requested`. At most one of a workspace is neither `stopped` nor `failed`.",
      MATERIALIZATION_EDGES,
    ),
    stateMachine("Exec", "A command starts as `pending` until its workspace is live.", EXEC_EDGES),
    stateMachine("PTY", "A terminal starts as `pending` until its workspace is live.", PTY_EDGES),
    stateMachine(
      "Invitation",
      "An invitation starts as `open`. After seven days it looks `expired`; that is not stored.",
      INVITATION_EDGES,
    ),
    stateMachine(
      "Device authorization",
      "The sign-in of a device starts as `pending` and is of no use after 15 minutes, whatever its state.",
      DEVICE_EDGES,
    ),
  ];
  return page("State machines", ...machines);
}

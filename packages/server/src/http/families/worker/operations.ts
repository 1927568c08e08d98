import {
  CheckpointFailedOperation,
  CheckpointReadyOperation,
  ChildRunsOperation,
  ERROR_CODES,
  EventsOperation,
  ExecsOperation,
  InputsOperation,
  LIMITS,
  LogsOperation,
  MetadataOperation,
  OperationResult,
  OutputsOperation,
  ReleaseOperation,
  Report,
  ReportResponse,
  StartOperation,
  StatesOperation,
  StepsOperation,
  TokensOperation,
  UsageOperation,
  WaitsOperation,
  type Operation,
  type OperationKind,
  type Uuid,
} from "@keelson/contract";
import type { TSchema } from "typebox";
import type { LeasedOperation, OperationOutcome } from "../../../core/leases/report-batch.ts";
import { applyReport } from "../../../core/leases/apply-report.ts";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { offerAppends } from "../../resources/streams/offer-records.ts";
import { decodeOperation } from "./decode-lease.ts";
import { takeReportTurn } from "./report-turn.ts";
import { operationValueJson } from "./durable-wire.ts";
import { bothMounts } from "./mounts.ts";

const worker = { kind: "worker" } as const;

/** Applies operations; those of a malformed id are answered as leases that are not held. */
async function report(
  server: ServerContext,
  workerId: Uuid<"wkr">,
  { operations, sent_at: sentAt }: Report,
  mayBeOdd: boolean,
): Promise<OperationOutcome[]> {
  const decoded = operations.map((operation) => decodeOperation(operation, mayBeOdd));
  const known = decoded.filter((operation): operation is LeasedOperation => operation !== null);
  if (known.length === 0) return operations.map(() => NOT_HELD);
  const { outcomes, storedBytes, appended } = await applyReport(
    server,
    workerId,
    known,
    sentAt === undefined ? null : Date.parse(sentAt),
  );
  offerAppends(server, appended);
  const turn = takeReportTurn(server.turns, known, storedBytes);
  if (turn !== undefined) await turn;
  let next = 0;
  return decoded.map((operation) => (operation === null ? NOT_HELD : (outcomes[next++] ?? NOT_HELD)));
}

const NOT_HELD: OperationOutcome = {
  ok: false,
  code: "lease_lost",
  message: "There is no such lease; stop this execution.",
};

/** An `OperationResult` as JSON text. */
function resultJson(server: ServerContext, outcome: OperationOutcome, requestId: string): string {
  if (outcome.ok) {
    return outcome.value === undefined
      ? APPLIED
      : `{"status":200,"error":null,"result":${operationValueJson(outcome.value, server)}}`;
  }
  const { code, message } = outcome;
  const error = { code, message, details: null, request_id: requestId };
  return `{"status":${ERROR_CODES[code].status},"error":${JSON.stringify(error)}}`;
}

const APPLIED = `{"status":200,"error":null}`;

/** The operation id of `checkpoints/ready` is `checkpointsReadyExecution`. */
const wordOf = (kind: OperationKind): string =>
  kind.replaceAll(/[-/](.)/g, (_, letter: string) => letter.toUpperCase());

/** An operation's own route: the same as a report of one, its refusal as the status. */
const operationRoute = (kind: OperationKind, schema: TSchema, summary: string): RouteDefinition[] =>
  bothMounts("executions", {
    method: "POST",
    path: `/executions/${kind}`,
    name: `${wordOf(kind)}Execution`,
    summary,
    description:
      "One operation of a leased execution. Agents normally send many together with `executions/report`.",
    access: worker,
    body: schema,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "Applied, now or earlier.", schema: OperationResult } },
    refusals: [404],
    handle: async ({ server, scope, body, request }) => {
      const [outcome = NOT_HELD] = await report(
        server,
        scope.workerId,
        { operations: [{ kind, ...(body as object) } as Operation] },
        request.mayHoldOddText,
      );
      if (!outcome.ok) throw new DomainError(outcome.code, outcome.message);
      return { status: 200, json: resultJson(server, outcome, request.requestId) };
    },
  });

export const operationRoutes: RouteDefinition[] = [
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/report",
    name: "reportExecutions",
    summary: "Report operations",
    description:
      "Any mix of operations of many leases, applied in order in one transaction. Each operation has its own result, and a refused operation does " +
      "not affect the others. A repeated request gets the same response and has no second effect.",
    access: worker,
    body: Report,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "A result for each operation, in order.", schema: ReportResponse } },
    handle: async ({ server, scope, body, request }) => {
      const outcomes = await report(server, scope.workerId, body, request.mayHoldOddText);
      return {
        status: 200,
        json: `{"results":[${outcomes.map((outcome) => resultJson(server, outcome, request.requestId)).join(",")}]}`,
      };
    },
  }),
  ...operationRoute("start", StartOperation, "Say that an attempt began"),
  ...operationRoute("logs", LogsOperation, "Append log chunks"),
  ...operationRoute("events", EventsOperation, "Append events"),
  ...operationRoute("metadata", MetadataOperation, "Change a run's metadata"),
  ...operationRoute("usage", UsageOperation, "Add what calls of models used"),
  ...operationRoute("release", ReleaseOperation, "Give a lease back with its outcome"),
  ...operationRoute("steps", StepsOperation, "Enter outcomes in a run's journal"),
  ...operationRoute("waits", WaitsOperation, "Wait for something"),
  ...operationRoute("tokens", TokensOperation, "Create a completion token for a run"),
  ...operationRoute("child-runs", ChildRunsOperation, "Start a run from a run"),
  ...operationRoute("outputs", OutputsOperation, "Append to an output stream of the run's session"),
  ...operationRoute("inputs", InputsOperation, "Send input to another session"),
  ...operationRoute("execs", ExecsOperation, "Start a command in the run's workspace"),
  ...operationRoute("states", StatesOperation, "Read or set the state of the run's session"),
  ...operationRoute("checkpoints/ready", CheckpointReadyOperation, "Say that a run can be suspended"),
  ...operationRoute("checkpoints/failed", CheckpointFailedOperation, "Say that a run could not be suspended"),
];

import { decodeId, type CreateBulkAction, type Uuid } from "@keelson/contract";
import type { Selection } from "../../../core/bulk-actions/create-bulk-action.ts";
import { invalidRequest } from "../../../domain-error.ts";
import { runFilterOf } from "../runs/run-filter.ts";

/**
 * Which runs a request means. A filter that was forgotten, or is empty by mistake, selects nothing.
 *
 * @throws DomainError `invalid_request`
 */
export function selectionOf({ filter, run_ids: ids }: CreateBulkAction): Selection {
  if (ids !== undefined && filter !== undefined)
    throw invalidRequest([{ path: "run_ids", message: "send either filter or run_ids" }]);
  if (ids !== undefined) return { runIds: [...new Set(ids.map(runIdOf))] };
  const { all = false, ...fields } = filter ?? {};
  const isEmpty = Object.values(fields).every((value) => Array.isArray(value) && value.length === 0);
  if (isEmpty && !all)
    throw invalidRequest([
      {
        path: "filter",
        message:
          'say which runs: at least one filter, such as {"task": "send-report"}, or run_ids; {"all": true} means every run of the environment',
      },
    ]);
  if (!isEmpty && all)
    throw invalidRequest([{ path: "filter.all", message: "send either all or other filters" }]);
  return { filter: runFilterOf(fields) };
}

function runIdOf(text: string, index: number): Uuid<"run"> {
  const id = decodeId("run", text);
  if (id === null)
    throw invalidRequest([{ path: `run_ids.${index}`, message: "must be an id that begins with run_" }]);
  return id;
}

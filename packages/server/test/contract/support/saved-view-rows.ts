import { randomUUID } from "node:crypto";
import type { Row } from "../authorization-rows.ts";

const environment: Row = { object: (ids) => [ids.project, ids.environment] };
/** A view is its person's: to other people of the organization it is not there. */
const savedView: Row = {
  object: (ids) => [ids.project, ids.environment, ids.savedView],
  own: [200, 204, 404],
};
const named = (): object => ({ name: `Matrix ${randomUUID()}` });

/** Views of runs that people save. */
export const savedViews: Record<string, Row> = {
  listSavedViews: environment,
  createSavedView: { ...environment, body: () => ({ ...named(), filter: { search: "timeout" } }) },
  updateSavedView: { ...savedView, body: named },
  deleteSavedView: savedView,
};

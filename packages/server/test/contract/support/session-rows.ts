import type { Row } from "../authorization-rows.ts";

/** By operation id without the naming: what follows closes the session for the callers that come later. */
const session: Record<string, Omit<Row, "object">> = {
  getSession: {},
  updateSession: { body: () => ({ tags: ["matrix"] }) },
  closeSession: { body: () => ({}), own: [200, 409] },
  cancelSession: { own: [200, 409] },
  listSessionRuns: {},
  listSessionStreams: {},
  listSessionMessages: {},
  getSessionState: {},
  getSessionUsage: {},
  setSessionState: { body: () => ({ state: 1 }), own: [200, 409] },
  interruptSessionMessage: { body: (ids) => ({ message_id: ids.message }) },
  appendSessionInput: { stream: "input", body: () => ({ data: 1 }), own: [201, 409] },
  appendSessionOutput: { stream: "output", body: () => ({ data: 1 }), own: [201, 409] },
  withdrawSessionInput: { stream: "input", sequence: "1", own: [200] },
  listSessionInputs: { stream: "input" },
  listSessionOutputs: { stream: "output" },
  readSessionInputs: { stream: "input", query: () => ({ wait: "0s" }) },
  readSessionOutputs: { stream: "output", query: () => ({ wait: "0s" }) },
};

/** Each by the session's id and by its external id. */
export const sessionItems: Record<string, Row> = Object.fromEntries(
  Object.entries(session).flatMap(([id, row]): [string, Row][] => [
    [id, { ...row, object: (ids) => ids.session }],
    [
      `${id}ByExternalId`,
      {
        ...row,
        object: (ids) => ids.externalId,
        query: (ids) => ({ ...row.query?.(ids), external_id: ids.externalId }),
      },
    ],
  ]),
);

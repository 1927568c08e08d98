import { digestOf } from "../../support/api-server.ts";
import type { Ids, Row } from "../authorization-rows.ts";

const FILE = Buffer.from("a file of the matrix");
const DIGEST = digestOf(FILE);

/** `named`: what the path has after the session. */
type SessionRow = Omit<Row, "object"> & { named?: (ids: Ids) => string };

/** By operation id without the naming: what follows closes the session for the callers that come later. */
const session: Record<string, SessionRow> = {
  getSession: {},
  updateSession: { body: () => ({ tags: ["matrix"] }) },
  closeSession: { body: () => ({}), own: [200, 409] },
  cancelSession: { own: [200, 409] },
  listSessionRuns: {},
  listSessionStreams: {},
  listSessionMessages: {},
  getSessionState: {},
  getSessionUsage: {},
  listSessionFiles: {},
  getSessionFile: { named: (ids) => ids.file },
  readSessionFile: { named: (ids) => ids.file },
  uploadSessionFile: { named: () => DIGEST, bytes: FILE, own: [200, 201, 409] },
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
  Object.entries(session).flatMap(([id, { named, ...row }]): [string, Row][] => [
    [id, { ...row, object: (ids) => [ids.session, ...(named === undefined ? [] : [named(ids)])] }],
    [
      `${id}ByExternalId`,
      {
        ...row,
        object: (ids) => named?.(ids) ?? ids.externalId,
        query: (ids) => ({ ...row.query?.(ids), external_id: ids.externalId }),
      },
    ],
  ]),
);

const publicFile: Row = { refusal: 403 };
const publicUpload: Row = { bytes: FILE, own: [200, 201, 409], refusal: 403 };
const byName = (ids: Ids): Record<string, string> => ({ external_id: ids.externalId });

/** What a page does to files. */
export const publicFiles: Record<string, Row> = {
  publicUploadFile: { ...publicUpload, object: (ids) => [ids.session, DIGEST] },
  publicUploadFileByExternalId: { ...publicUpload, object: () => DIGEST, query: byName },
  publicListFiles: { ...publicFile, object: (ids) => ids.session },
  publicListFilesByExternalId: { ...publicFile, query: byName },
  publicGetFile: { ...publicFile, object: (ids) => [ids.session, ids.file] },
  publicGetFileByExternalId: { ...publicFile, object: (ids) => ids.file, query: byName },
  publicReadFile: { ...publicFile, object: (ids) => [ids.session, ids.file] },
  publicReadFileByExternalId: { ...publicFile, object: (ids) => ids.file, query: byName },
};

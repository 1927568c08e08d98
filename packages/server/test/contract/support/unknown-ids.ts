// Ids of objects that there are not.

import { encodeId } from "@keelson/contract";
import type { Ids } from "../authorization-rows.ts";

const MISSING = "00000000-0000-7000-8000-000000000000";

export const ABSENT: Ids = {
  run: encodeId("run", MISSING),
  task: encodeId("task", MISSING),
  deployment: encodeId("dep", MISSING),
  schedule: encodeId("sched", MISSING),
  secret: encodeId("sec", MISSING),
  secretName: "ABSENT",
  workspace: encodeId("ws", MISSING),
  version: encodeId("wsv", MISSING),
  doomed: encodeId("ws", MISSING),
  sandbox: encodeId("sbx", MISSING),
  materialization: encodeId("mat", MISSING),
  running: encodeId("ws", MISSING),
  exec: encodeId("exec", MISSING),
  pty: encodeId("pty", MISSING),
  bundle: "0".repeat(64),
  environment: encodeId("env", MISSING),
  lease: encodeId("lease", MISSING),
  token: encodeId("tok", MISSING),
  actor: encodeId("actor", MISSING),
  session: encodeId("sess", MISSING),
  externalId: "nobody",
  project: encodeId("proj", MISSING),
  user: encodeId("user", MISSING),
  key: encodeId("key", MISSING),
  invitation: encodeId("inv", MISSING),
};

export const MALFORMED: Ids = {
  run: "run_1",
  task: "task 1",
  deployment: "x",
  schedule: "s",
  secret: "s",
  secretName: "not a name",
  workspace: "ws_1",
  version: "v",
  doomed: "ws",
  sandbox: "sbx_",
  materialization: "mat",
  running: "ws_",
  exec: "exec",
  pty: "pty",
  bundle: "1",
  environment: "e",
  lease: "l",
  token: "tok_1",
  actor: "chat",
  session: "sess_1",
  externalId: "sess_1",
  project: "proj_1",
  user: "user",
  key: "k",
  invitation: "i",
};

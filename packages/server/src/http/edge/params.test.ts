import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeId, type Uuid } from "@keelson/contract";
import { findEnvironment } from "../../core/identity/tenancy-reads.ts";
import type { Queryable } from "../../db/queryable.ts";
import { createUuidGenerator } from "../../uuid.ts";
import { decodeParams, Id, Text, type ParamsOf } from "./params.ts";

const newUuid = createUuidGenerator(() => 1_700_000_000_000);
const declared = { project_id: Id("proj"), environment_id: Id("env"), name: Text() };

describe("the ids of a path", () => {
  it("are given as UUIDs, and a TypeID of another resource names nothing", () => {
    const [project, environment] = [newUuid<"proj">(), newUuid<"env">()];
    const raw = {
      project_id: encodeId("proj", project),
      environment_id: encodeId("env", environment),
      name: "nightly",
    };
    assert.deepEqual(decodeParams(declared, raw), {
      project_id: project,
      environment_id: environment,
      name: "nightly",
    });
    assert.throws(() => decodeParams(declared, { ...raw, project_id: raw.environment_id }), {
      code: "not_found",
    });
  });

  it("do not compile where those of another resource are taken", () => {
    /** Is compiled and never called. */
    const swapped = (db: Queryable, params: ParamsOf<typeof declared>, text: string): unknown[] => {
      const { project_id: projectId, environment_id: environmentId } = params;
      // @ts-expect-error An environment's id is no project's.
      const project: Uuid<"proj"> = environmentId;
      // @ts-expect-error Neither is text.
      const bare: Uuid<"proj"> = text;
      // @ts-expect-error A new run's id is no environment's.
      const made: Uuid<"env"> = newUuid<"run">();
      // @ts-expect-error The pair is swapped.
      const found = findEnvironment(db, environmentId, projectId);
      // @ts-expect-error Nor is it shown as one.
      const shown = encodeId("proj", environmentId);
      return [
        shown,
        encodeId("proj", projectId),
        encodeId("proj", text),
        project,
        bare,
        made,
        found,
        findEnvironment(db, projectId, environmentId),
      ];
    };
    assert.equal(typeof swapped, "function");
  });
});

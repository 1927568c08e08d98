import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { encodeId } from "@keelson/contract";
import { loadConfig } from "../../packages/server/src/config.ts";

const folder = process.env["KEELSON_TEST_PROGRAMS"];
const alone = folder === undefined && "nothing is bundled for a file that is run by hand";

const load = async (name: string): Promise<Record<string, Record<string, unknown>>> =>
  (await import(pathToFileURL(path.join(folder as string, name)).href)) as Record<
    string,
    Record<string, unknown>
  >;

test("a test and what is bundled have the same modules", { skip: alone }, async () => {
  const [server, contract] = [await load("server.js"), await load("contract.js")];
  assert.equal(server["packages_server_src_config_ts"]?.["loadConfig"], loadConfig);
  assert.equal(contract["packages_contract_src_index_ts"]?.["encodeId"], encodeId);
});

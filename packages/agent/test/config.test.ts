import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, parseAgentConfig } from "@keelson/agent";

const minimal = { KEELSON_URL: "http://127.0.0.1:3000", KEELSON_ENROLLMENT_TOKEN: "kl_enr_x" };
const noFile = () => {
  throw new Error("no such file");
};

test("defaults need only an address and an enrollment token", () => {
  const config = parseAgentConfig(minimal, noFile);
  assert.equal(config.capacity, 16);
  assert.equal(config.workspaceDiskBytes, 32 * 1024 ** 3);
  assert.equal(config.bundleCacheBytes, 5 * 1024 ** 3);
  assert.equal(config.bundleCacheAgeMs, 30 * 24 * 3_600_000);
  assert.equal(config.enrollmentToken, "kl_enr_x");
  assert.deepEqual(config.taskEnvironment, {});
});

test("the enrollment token may stand in a file", () => {
  const { enrollmentToken } = parseAgentConfig(
    { KEELSON_URL: minimal.KEELSON_URL, KEELSON_ENROLLMENT_TOKEN_FILE: "/run/token" },
    (path) => `${path} content\n`,
  );
  assert.equal(enrollmentToken, "/run/token content");
});

test("variables named in KEELSON_TASK_ENV are passed to tasks when they are set", () => {
  const { taskEnvironment } = parseAgentConfig(
    { ...minimal, KEELSON_TASK_ENV: "A, B,C", A: "1", C: "" },
    noFile,
  );
  assert.deepEqual(taskEnvironment, { A: "1", C: "" });
});

for (const [name, env] of Object.entries({
  KEELSON_URL: { KEELSON_URL: "" },
  KEELSON_ENROLLMENT_TOKEN: { KEELSON_ENROLLMENT_TOKEN: "" },
  KEELSON_ENROLLMENT_TOKEN_FILE: { KEELSON_ENROLLMENT_TOKEN: "", KEELSON_ENROLLMENT_TOKEN_FILE: "/none" },
  KEELSON_AGENT_CAPACITY: { KEELSON_AGENT_CAPACITY: "many" },
  KEELSON_AGENT_WORKSPACE_DISK_MIB: { KEELSON_AGENT_WORKSPACE_DISK_MIB: "0" },
  KEELSON_AGENT_BUNDLE_CACHE_MIB: { KEELSON_AGENT_BUNDLE_CACHE_MIB: "0" },
  KEELSON_AGENT_BUNDLE_CACHE_DAYS: { KEELSON_AGENT_BUNDLE_CACHE_DAYS: "soon" },
  KEELSON_TASK_ENV: { KEELSON_TASK_ENV: "A;B" },
  KEELSON_LOG_LEVEL: { KEELSON_LOG_LEVEL: "loud" },
  KEELSON_AGENT_CAPACTIY: { KEELSON_AGENT_CAPACTIY: "4" },
})) {
  test(`${name} that cannot be used is refused by name: ${JSON.stringify(env)}`, () => {
    assert.throws(
      () => parseAgentConfig({ ...minimal, ...env }, noFile),
      (error) => error instanceof ConfigError && error.message.includes(name),
    );
  });
}

test("the agent's own credential cannot be passed to tasks", () => {
  assert.throws(
    () => parseAgentConfig({ ...minimal, KEELSON_TASK_ENV: "KEELSON_ENROLLMENT_TOKEN" }, noFile),
    ConfigError,
  );
});

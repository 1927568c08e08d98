import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConfigError, loadConfig } from "./config.ts";

describe("the configuration of limits", () => {
  test("has defaults that hold back nobody but strangers", () => {
    const { rateLimits, quotas, trustedProxies } = loadConfig({});
    assert.deepEqual(rateLimits, { credential: 0, address: 1_000, failures: 300, logins: 60 });
    assert.deepEqual(quotas, { liveRuns: 1_000_000, eventStreams: 1_000, storedBytes: 0 });
    assert.deepEqual(trustedProxies, []);
  });

  test("takes addresses and networks of proxies", () => {
    const env = { KEELSON_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.7,2001:db8::/32 , ::1" };
    assert.deepEqual(loadConfig(env).trustedProxies, ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::1"]);
  });

  test("refuses what is no network, naming it", () => {
    for (const value of ["proxy.example.com", "10.0.0.0/33", "10.0.0.0/8/8", "::1/129", "10.0.0.1/", "*"])
      assert.throws(
        () => loadConfig({ KEELSON_TRUSTED_PROXIES: value }),
        (error) => error instanceof ConfigError && error.message.includes(`"${value}"`),
        value,
      );
  });

  test("refuses a setting that it does not know, and says what became of a removed one", () => {
    assert.throws(() => loadConfig({ KEELSON_SHARD_RATE: "1" }), /is not a setting of Keelson/);
    assert.throws(
      () => loadConfig({ KEELSON_SHARED_RATE: "1" }),
      /KEELSON_SHARED_RATE was removed\. .* Unset it\./,
    );
  });
});

describe("the tag of a cell", () => {
  test("is short, or is that of the database", () => {
    for (const [set, cell] of [
      ["eu1", "eu1"],
      ["", null],
      [undefined, null],
    ] as const)
      assert.equal(loadConfig({ KEELSON_CELL: set }).cell, cell);
    for (const KEELSON_CELL of ["e", "EU1", "1eu", "eu-1", "toolong12"])
      assert.throws(
        () => loadConfig({ KEELSON_CELL }),
        /KEELSON_CELL is ".*"; set 2 to 8 lower-case letters/,
      );
  });
});

describe("the public URL", () => {
  test("is a host name, without a slash at its end", () => {
    for (const PUBLIC_URL of ["https://keelson.example.com", "https://keelson.example.com/"])
      assert.equal(loadConfig({ PUBLIC_URL }).publicUrl, "https://keelson.example.com");
    assert.equal(loadConfig({ PUBLIC_URL: "http://[::1]:8080" }).publicUrl, "http://[::1]:8080");
  });

  test("has no path, as the console is at the root of its host name", () => {
    for (const end of ["/keelson", "/keelson/", "?a=1", "#a"])
      assert.throws(
        () => loadConfig({ PUBLIC_URL: `https://example.com${end}` }),
        /PUBLIC_URL has more than a host name and a port.*https:\/\/keelson\.example\.com/,
        end,
      );
  });
});

describe("the URL of a database", () => {
  const urlOf = (DATABASE_URL: string): string | null => loadConfig({ DATABASE_URL }).databaseUrl;

  test("is taken as it is, also for a unix socket", () => {
    for (const url of [
      "postgres://keelson:a,b%40c@db.example.com:5432/keelson?sslmode=verify-full&sslrootcert=/etc/ca.pem",
      "postgresql://keelson@/keelson?host=/run/postgresql",
      "postgres://db/keelson?sslmode=no-verify",
    ])
      assert.equal(urlOf(url), url);
  });

  test("means by sslmode=require what PostgreSQL's own clients do", () => {
    const url = "postgres://keelson@db/keelson?sslmode=require";
    assert.equal(urlOf(url), `${url}&uselibpqcompat=true`);
  });

  test("is refused with several hosts, and told what to name", () => {
    for (const url of [
      "postgres://keelson:secret@a:5432,b:5432/keelson?target_session_attrs=read-write",
      "postgres://keelson:secret@/keelson?host=a,b",
    ])
      assert.throws(
        () => urlOf(url),
        (error) =>
          error instanceof ConfigError &&
          error.message.startsWith("DATABASE_URL names several hosts. Name the one address") &&
          !error.message.includes("secret"),
      );
  });
});

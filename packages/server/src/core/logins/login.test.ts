import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEVICE_STATUSES } from "@keelson/contract";
import { decideAnswer, decideAsk, DEVICE_EDGES, isEarlyPoll, parseUserCode, userCodeOf } from "./login.ts";

describe("a device authorization", () => {
  const commands = {
    ask: (status: (typeof DEVICE_STATUSES)[number]) => decideAsk(status, false, false),
    approve: (status: (typeof DEVICE_STATUSES)[number]) => decideAnswer(status, "approved"),
    deny: (status: (typeof DEVICE_STATUSES)[number]) => decideAnswer(status, "denied"),
  };
  for (const [command, decide] of Object.entries(commands)) {
    for (const status of DEVICE_STATUSES) {
      test(`${command} moves ${status} along an edge or not at all`, () => {
        const decision = decide(status);
        const edge = DEVICE_EDGES.find((one) => one.from === status && one.on === command);
        assert.equal(decision.kind === "move" ? decision.to : undefined, edge?.to);
      });
    }
  }

  test("answers the device by the names of RFC 8628", () => {
    const code = (...args: Parameters<typeof decideAsk>): string => {
      const decision = decideAsk(...args);
      return decision.kind === "refuse" ? decision.code : decision.to;
    };
    assert.equal(code("pending", false, false), "authorization_pending");
    assert.equal(code("pending", false, true), "slow_down");
    assert.equal(code("approved", false, true), "consumed");
    assert.equal(code("denied", false, false), "access_denied");
    assert.equal(code("consumed", false, false), "expired_token");
    for (const status of DEVICE_STATUSES) assert.equal(code(status, true, false), "expired_token");
  });

  test("tells a poll that came too soon from one that is in time", () => {
    assert.equal(isEarlyPoll(null, 5, 0), false);
    assert.equal(isEarlyPoll(1_000, 5, 5_499), true);
    assert.equal(isEarlyPoll(1_000, 5, 5_500), false);
  });
});

test("user codes have no vowels and are found however they are typed", () => {
  const code = userCodeOf(Uint8Array.from({ length: 16 }, (_, index) => 255 - index * 2));
  assert.match(code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.equal(parseUserCode(` ${code.toLowerCase().replace("-", " ")} `), code);
  assert.equal(parseUserCode("BCDF"), null);
  assert.throws(() => userCodeOf(new Uint8Array(16).fill(255)), RangeError);
});

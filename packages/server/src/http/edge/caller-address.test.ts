import assert from "node:assert/strict";
import { test } from "node:test";
import { callerAddress } from "./caller-address.ts";

test("an address is counted as itself, of IPv6 as its /64", () => {
  for (const [address, counted] of [
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::1", "0:0:0:0::/64"],
    ["2001:DB8::7", "2001:db8:0:0::/64"],
    ["2001:db8:0:0:ffff::7", "2001:db8:0:0::/64"],
    ["2001:0db8:0001:0002:0003:0004:0005:0006", "2001:db8:1:2::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])
    assert.equal(callerAddress(address), counted);
});

test("what is no address is nobody's", () => {
  for (const text of [undefined, "", "unknown", "203.0.113.7:4400", "<script>", "x".repeat(10_000)])
    assert.equal(callerAddress(text), "unknown");
});

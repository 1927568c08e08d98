import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ROLES } from "@keelson/contract";
import {
  decideAccept,
  decideInvite,
  decideMemberChange,
  decideRevoke,
  INVITATION_EDGES,
  invitationStatus,
  slugOf,
  STORED_INVITATION_STATUSES,
  type InvitationDecision,
  type StoredInvitationStatus,
} from "./identity.ts";

describe("changes of members", () => {
  for (const actorRole of ROLES) {
    for (const role of ROLES) {
      for (const to of [...ROLES, null]) {
        test(`by ${actorRole}: ${role} to ${to ?? "nobody"}`, () => {
          const touchesOwner = role === "owner" || to === "owner";
          const several = decideMemberChange({ actorRole, role, to, owners: 2 });
          const last = decideMemberChange({ actorRole, role, to, owners: 1 });
          if (touchesOwner && actorRole !== "owner") {
            assert.equal(several.kind === "refuse" && several.code, "forbidden");
            assert.equal(last.kind === "refuse" && last.code, "forbidden");
          } else if (role === to) {
            assert.deepEqual([several.kind, last.kind], ["none", "none"]);
          } else {
            assert.equal(several.kind, "change");
            assert.equal(last.kind, role === "owner" ? "refuse" : "change");
          }
        });
      }
      test(`${actorRole} invites ${role}`, () => {
        const allowed = role !== "owner" || actorRole === "owner";
        assert.equal(decideInvite(actorRole, role).kind, allowed ? "change" : "refuse");
      });
    }
  }
});

describe("an invitation's decisions", () => {
  const commands: Record<string, (status: StoredInvitationStatus) => InvitationDecision> = {
    accept: (status) => decideAccept(status, false),
    revoke: decideRevoke,
  };
  for (const [command, decide] of Object.entries(commands)) {
    for (const status of STORED_INVITATION_STATUSES) {
      test(`${command} moves ${status} along an edge or not at all`, () => {
        const decision = decide(status);
        const edge = INVITATION_EDGES.find((one) => one.from === status && one.on === command);
        assert.equal(decision.kind === "move" ? decision.to : undefined, edge?.to);
      });
    }
  }

  test("one that has run out is not accepted, and looks so", () => {
    assert.equal(decideAccept("open", true).kind, "refuse");
    assert.equal(invitationStatus({ status: "open", expiresAt: 5 }, 4), "open");
    assert.equal(invitationStatus({ status: "open", expiresAt: 5 }, 5), "expired");
    assert.equal(invitationStatus({ status: "accepted", expiresAt: 5 }, 6), "accepted");
  });
});

test("slugs are made from names", () => {
  assert.equal(slugOf("  Größte Émile's Team! "), "gro-te-emile-s-team");
  assert.equal(slugOf("x".repeat(100)), "x".repeat(64));
  assert.equal(slugOf("会社"), null);
});

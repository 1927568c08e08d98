import type { AuditTarget, WriteAudit } from "./audit.ts";
import { keepReply } from "./keep-reply.ts";
import type {
  Access,
  Call,
  EnvironmentScope,
  KeptReply,
  LaterReply,
  Refusal,
  Reply,
  Route,
} from "./route.ts";
import type { Tx } from "../../db/queryable.ts";

type OutsideCall = Call<Access, Route["params"], Route["query"], Route["body"]>;
/** A call before its transaction. */
export type OpenCall = Omit<OutsideCall, "tx" | "audit" | "auditIn" | "onCommit" | "prepared">;

/**
 * Runs a handler in what its route declares: a transaction, with the audit event as the last thing that it writes, and the
 * key under which its reply is stored.
 */
export async function runRoute(route: Route, open: OpenCall, writeAudit: WriteAudit | null): Promise<Reply> {
  const auditIn = route.transaction === undefined ? writeAudit : null;
  const outside = { ...open, tx: undefined, audit: refuse, auditIn, onCommit: refuse, prepared: undefined };
  const prepared = route.prepare === undefined ? undefined : await route.prepare(outside);
  if (route.transaction === undefined) return made(await route.handle({ ...outside, prepared }));
  let follows: (() => void)[] = [];
  const work = async (tx: Tx): Promise<Reply | Refusal | LaterReply> => {
    let target: AuditTarget | null | undefined;
    follows = [];
    const audit = (said: AuditTarget | null): void => void (target = said);
    const onCommit = (follow: () => void): void => void follows.push(follow);
    const reply = await route.handle({ ...open, tx, audit, auditIn, onCommit, prepared });
    if (writeAudit === null || "refusal" in reply) return reply;
    // The first test of such a route fails: a change went past the log that the route promises.
    if (target === undefined)
      throw new Error(`${route.operationId} declares an audit event and does not say of what.`);
    if (target !== null) await writeAudit(tx, target);
    return reply;
  };
  if (typeof route.idempotency !== "object") {
    const reply = await open.server.db.transaction(work, route.transaction === "snapshot" ? SNAPSHOT : {});
    for (const follow of follows) follow();
    return "afterCommit" in reply ? reply.afterCommit() : made(reply);
  }
  const kept = await keep(route.idempotency, outside, async (tx) => made(await work(tx)));
  if (!kept.replayed) for (const follow of follows) follow();
  return route.afterCommit === undefined ? kept : route.afterCommit(outside, kept);
}

const SNAPSHOT = { isolation: "repeatable read", readOnly: true } as const;

/** Only routes of an environment store replies: keys are the environment's. */
function keep(
  { stored, within, content }: Exclude<NonNullable<Route["idempotency"]>, string>,
  call: OutsideCall,
  work: (tx: Tx) => Promise<Reply>,
): Promise<KeptReply> {
  const keyed = { ...call, query: undefined };
  const key = {
    operation: within === undefined ? stored : `${stored} ${within(keyed)}`,
    ...(content === undefined ? {} : { content: content(keyed) }),
  };
  return keepReply({ ...call, scope: call.scope as EnvironmentScope }, key, work);
}

function made(reply: Reply | Refusal | LaterReply): Reply {
  if ("refusal" in reply) throw reply.refusal;
  // The first test of such a route fails.
  if ("afterCommit" in reply)
    throw new Error("Only what is done in a transaction, and not stored, has a later reply.");
  return reply;
}

const refuse = (): never => {
  throw new Error("The route says what belongs to a transaction, and declares none.");
};

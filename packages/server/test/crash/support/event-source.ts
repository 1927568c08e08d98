// A reader of server-sent events that loses its connection all the time, and does as the HTML standard says (section 9.2).

import { Agent, request } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { pick, type Random } from "../../support/seeded-random.ts";
import { letPass } from "../../support/until.ts";

export interface ReceivedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export interface FollowOptions {
  /** One is drawn for each connection. */
  readonly urls: readonly string[];
  readonly path: string;
  readonly credential: string;
  readonly random: Random;
  /** The longest life of a connection; null: it is not cut. */
  readonly cutAfterMs: number | null;
  /** Where it begins, as if it had received this before. */
  readonly after?: string;
  readonly signal: AbortSignal;
  /** Told of each entry as it comes. */
  readonly onReceived?: (event: ReceivedEvent) => void;
}

export interface Followed {
  /** All but `end` and `error`, in the order of arrival. */
  readonly events: ReceivedEvent[];
  readonly end: ReceivedEvent | null;
  readonly connections: number;
  /** `error` events and refused connections. */
  readonly failures: number;
}

/** Follows until `end` or the abort. */
export async function followToEnd(options: FollowOptions): Promise<Followed> {
  const events: ReceivedEvent[] = [];
  const followed = { end: null as ReceivedEvent | null, connections: 0, failures: 0 };
  let lastEventId = options.after ?? "";
  const receive = (block: string): void => {
    const fields = { id: lastEventId, event: "message", data: "" };
    for (const line of block.split("\n")) {
      const [, name, value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === "id" || name === "event" || name === "data") fields[name] = value;
    }
    lastEventId = fields.id;
    if (fields.data === "") return;
    if (fields.event === "end") followed.end = fields;
    else if (fields.event === "error") followed.failures += 1;
    else {
      events.push(fields);
      options.onReceived?.(fields);
    }
  };
  while (followed.end === null && !options.signal.aborted) {
    followed.connections += 1;
    if (!(await followOnce(options, lastEventId, receive, () => followed.end !== null))) {
      followed.failures += 1;
      await letPass(50, "a reader that was refused comes back after a moment");
    }
  }
  return { events, ...followed };
}

/** One connection, until its end or its cut. False when it was refused. */
function followOnce(
  options: FollowOptions,
  lastEventId: string,
  receive: (block: string) => void,
  isDone: () => boolean,
): Promise<boolean> {
  const { random, cutAfterMs } = options;
  const inHeader = random() < 0.5;
  const query = inHeader || lastEventId === "" ? "?follow=1" : `?follow=1&cursor=${lastEventId}`;
  return new Promise((resolve) => {
    let text = "";
    const decoder = new StringDecoder();
    const sent = request(
      pick(random, options.urls) + options.path + query,
      {
        agent: new Agent(),
        headers: {
          authorization: `Bearer ${options.credential}`,
          ...(inHeader && lastEventId !== "" ? { "last-event-id": lastEventId } : {}),
        },
      },
      (incoming) => {
        if (incoming.statusCode !== 200) {
          incoming.resume();
          return finish(false);
        }
        incoming.on("data", (bytes: Buffer) => {
          text += decoder.write(bytes);
          // What has arrived in part when the connection is cut was not received.
          for (let at = text.indexOf("\n\n"); at !== -1 && !isDone(); at = text.indexOf("\n\n")) {
            receive(text.slice(0, at));
            text = text.slice(at + 2);
          }
          if (isDone()) finish(true);
        });
        incoming.on("error", () => finish(true));
        incoming.on("close", () => finish(true));
      },
    );
    const finish = (accepted: boolean): void => {
      clearTimeout(cut);
      sent.destroy();
      resolve(accepted);
    };
    const cut = cutAfterMs === null ? undefined : setTimeout(() => finish(true), random() * cutAfterMs);
    options.signal.addEventListener("abort", () => finish(true), { once: true });
    sent.on("error", () => finish(false));
    sent.end();
  });
}

// A mail server that keeps what it is given.

import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface Mailbox {
  /** For SMTP_URL. */
  readonly url: string;
  /** The next mail that comes for the address, as it was sent. */
  next(to: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startMailbox(): Promise<Mailbox> {
  const kept = new Map<string, string[]>();
  const waiting = new Map<string, ((mail: string) => void)[]>();
  const keep = (address: string, mail: string): void => {
    const waiter = waiting.get(address)?.shift();
    if (waiter === undefined) kept.set(address, [...(kept.get(address) ?? []), mail]);
    else waiter(mail);
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, session, done) => {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => void parts.push(part));
      stream.on("end", () => {
        // Long lines are folded by the sender: soft line breaks of quoted-printable.
        const content = Buffer.concat(parts).toString("utf8");
        const mail = content.replaceAll("=\r\n", "").replaceAll("=3D", "=");
        for (const { address } of session.envelope.rcptTo) keep(address, mail);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    next: (to) => {
      const mail = kept.get(to)?.shift();
      if (mail !== undefined) return Promise.resolve(mail);
      return new Promise((resolve) => void waiting.set(to, [...(waiting.get(to) ?? []), resolve]));
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

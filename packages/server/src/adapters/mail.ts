import type { Logger } from "pino";
import type { Mail, MailSender } from "../core/mail.ts";

export type MailOptions = {
  /** null: messages are printed. */
  smtpUrl: string | null;
  from: string;
  /** Where messages go without SMTP: to the operator, not into the log. */
  print: (text: string) => void | Promise<void>;
  log: Logger;
};

const TIMEOUT_MS = 15_000;

type Deliver = (mail: Mail) => Promise<void>;

/** Sends by SMTP, one message after the other on kept connections; without SMTP prints what it would have sent. */
export function createMailSender({ smtpUrl, from, print, log }: MailOptions): MailSender {
  let transport: Promise<{ deliver: Deliver; close: () => void }> | undefined;
  const underWay = new Set<Promise<void>>();

  const deliver = async (mail: Mail): Promise<void> => {
    if (smtpUrl === null) {
      await print(`\nMail to ${mail.to}: ${mail.subject}\n\n${mail.text}`);
      return;
    }
    transport ??= connect(smtpUrl, from);
    const { deliver: send } = await transport;
    await send(mail);
  };

  return {
    send: (mail) => {
      const sending: Promise<void> = deliver(mail)
        // The recipient's address is theirs: the log says only that a mail was lost, and why.
        .catch((error: unknown) => log.error({ err: error, subject: mail.subject }, "mail not sent"))
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
    },
    close: async () => {
      await Promise.all(underWay);
      (await transport)?.close();
    },
  };
}

/** Loaded when the first message is sent: most starts send none. */
async function connect(smtpUrl: string, from: string): Promise<{ deliver: Deliver; close: () => void }> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport(
    {
      url: smtpUrl,
      pool: true,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
    },
    { from },
  );
  return {
    deliver: async ({ to, subject, text }) => void (await transport.sendMail({ to, subject, text })),
    close: () => transport.close(),
  };
}

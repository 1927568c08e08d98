/** A message to a person. Plain text: what it has to say is a link. */
export type Mail = { to: string; subject: string; text: string };

/** Sends later and never fails a caller: whoever waits for a mail that does not come asks again. */
export type MailSender = {
  send(mail: Mail): void;
  /** Waits for what is being sent. */
  close(): Promise<void>;
};

import type { Mail } from "../mail.ts";

/** What people are written. The links have the server's own address: a request's Host is anybody's to choose. */

export const invitationMail = (to: string, organization: string, publicUrl: string, token: string): Mail => ({
  to,
  subject: `You are invited to ${organization} on Keelson`,
  text:
    `You are invited to join ${organization}.\n\nOpen this link within 7 days to accept:\n\n` +
    `${publicUrl}/invitation#token=${token}\n\nIf you do not know what this is about, do nothing.\n`,
});

export const magicLinkMail = (to: string, publicUrl: string, token: string): Mail => ({
  to,
  subject: "Sign in to Keelson",
  text:
    `Open this link within 15 minutes, in the browser in which you asked for it:\n\n` +
    `${publicUrl}/api/auth/magic-link/finish?token=${token}\n\n` +
    `It works once. If you did not ask for it, do nothing: without that browser it is of no use.\n`,
});

/**
 * What pages speak of without showing it: the client that every reader has, and functions of the reader's own. Global in
 * the program of all blocks, so a block that declares such a name itself hides it. What one block alone needs stands before
 * it on the page: `<!-- given: declare const x: T; -->`.
 */
export const VOCABULARY = `
import type { Client } from "@keelson/sdk";

declare global {
  const client: Client;
  const workspace: ReturnType<Client["workspaces"]["open"]>;
  const versionId: string;
  const signal: AbortSignal;

  /** Puts something before a person. */
  function show(data: unknown): void;
  function model(text: string): AsyncIterable<string>;
  function remember(sessionId: string, text: string): Promise<void>;
  function chargeCard(cart: string): Promise<{ id: string }>;
  function refund(charge: string): Promise<void>;
  function ship(cart: string): Promise<string>;
  function sendMail(text: string, password?: string): Promise<void>;
  const terminal: { write(bytes: Uint8Array): void };
  const digestThatWasRead: string;

  // What a web page has of its own server.
  const url: string;
  const id: string;
  const sessionId: string;
  const token: string;
  const publicAccessToken: string;
  const lastEventId: string;
}
`;

import { OAUTH_LIMITS, OAUTH_SCOPES, type OauthAccess } from "@keelson/contract";

/**
 * Clients that people connect by OAuth 2.1.
 *
 * A client registers itself and sends a person's browser here with an authorization request. The person approves it for one
 * environment, which makes a grant, and the client gets a code for it. It exchanges the code for the first generation of tokens:
 * an access token for an hour, and a refresh token for the next generation.
 */
export const CODE_MS = 60_000;
export const ACCESS_TOKEN_MS = 3_600_000;
/** A grant ends this long after its last refresh. */
export const GRANT_MS = 30 * 86_400_000;
/** A registration that nobody approves is dropped after this. */
export const UNUSED_CLIENT_MS = 86_400_000;
/** One that was used stays for this long after its last tokens: the client keeps its id, and comes back with it. */
export const USED_CLIENT_MS = 90 * 86_400_000;
/** Within this a refresh token that was used gives the same answer again, whatever was done with the answer. */
export const REPEAT_MS = 60_000;

/** RFC 6749, sections 4.1.2.1 and 5.2; RFC 8707, section 2; RFC 7591, section 3.2.2; RFC 8628, section 3.5. */
export type OauthErrorCode =
  | "access_denied"
  | "authorization_pending"
  | "expired_token"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "slow_down"
  | "unsupported_grant_type"
  | "unsupported_response_type";

export type OauthRefusal = { kind: "refuse"; error: OauthErrorCode; message: string };

export const refuse = (error: OauthErrorCode, message: string): OauthRefusal => ({
  kind: "refuse",
  error,
  message,
});

/** RFC 8252, section 7.3: clients on the person's own machine. */
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

const isLoopback = (url: URL): boolean => url.protocol === "http:" && LOOPBACK.has(url.hostname);

/** Null for an address that no answer is sent to. */
function parseRedirectUri(text: string): URL | null {
  if (text.length > OAUTH_LIMITS.redirectUriCharacters || !/^[!-~]+$/.test(text) || text.includes("#"))
    return null;
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return null;
  return url.protocol === "https:" || isLoopback(url) ? url : null;
}

export const isRedirectUri = (text: string): boolean => parseRedirectUri(text) !== null;

/** Whether answers for `asked` may go there: exactly as registered, but for the port at loopback. */
export function isRegistered(registered: readonly string[], asked: string): boolean {
  const url = parseRedirectUri(asked);
  if (url === null) return false;
  if (!isLoopback(url)) return registered.includes(asked);
  return registered.some((text) => withoutPort(text) === withoutPort(asked));
}

function withoutPort(text: string): string {
  const url = new URL(text);
  url.port = "";
  return url.href;
}

/** The host that is shown to whoever decides. */
export const hostOf = (redirectUri: string): string => new URL(redirectUri).host;

/** The address with an answer in its query. */
export function withAnswer(
  redirectUri: string,
  answer: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(answer))
    if (value !== undefined) url.searchParams.append(name, value);
  return url.href;
}

/** A client's name as it is kept: on one line, without characters that are not seen. Null: it has none. */
export function clientName(given: string | undefined): string | null {
  const name = (given ?? "")
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\u{fffd}]+/gu, " ")
    .trim();
  return name === "" ? null : name;
}

const [READ_SCOPE, WRITE_SCOPE] = OAUTH_SCOPES;

export const scopeOf = (access: OauthAccess): string =>
  access === "read" ? READ_SCOPE : `${READ_SCOPE} ${WRITE_SCOPE}`;

/** The most that a request asks for; all when it does not say. Null when none of it is ours. */
export function askedAccess(scope: string | undefined): OauthAccess | null {
  const names = (scope ?? "").split(" ").filter((name) => name !== "");
  if (names.length === 0 || names.includes(WRITE_SCOPE)) return "write";
  return names.includes(READ_SCOPE) ? "read" : null;
}

/** Whether `resource` (RFC 8707) means the address `own`: one that adds a query or a slash at its end does. */
export function isResource(asked: string | undefined, own: string): boolean {
  if (asked === undefined) return true;
  const url = URL.parse(asked);
  return url !== null && url.hash === "" && addressOf(url) === addressOf(new URL(own));
}

const addressOf = ({ origin, pathname }: URL): string => origin + pathname.replace(/\/$/, "");

/** RFC 7636, section 4: of 43 to 128 characters. */
export const isVerifier = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z0-9._~-]{43,128}$/.test(text);

/** The base64url of a SHA-256. */
export const isChallenge = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text);

/** What the times of a grant say. */
export type GrantState = {
  generation: number;
  usedGeneration: number;
  generationBeganAt: number | null;
  expiresAt: number;
  revokedAt: number | null;
};

export type TokenDecision =
  | { kind: "begin"; generation: number }
  /** The answer of before, again. */
  | { kind: "repeat"; generation: number }
  /** Somebody else has the token as well: the grant ends. */
  | { kind: "revoke" }
  | { kind: "none" };

const isOver = ({ expiresAt, revokedAt }: GrantState, now: number): boolean =>
  revokedAt !== null || expiresAt <= now;

/** Its code, or the code of its device, is exchanged. */
export function decideFirst(grant: GrantState, now: number): TokenDecision {
  if (grant.generation > 0) return grant.revokedAt === null ? { kind: "revoke" } : { kind: "none" };
  return isOver(grant, now) ? { kind: "none" } : { kind: "begin", generation: 1 };
}

/**
 * The refresh token of a generation comes. The newest one begins the next generation. The one before it is a repeat while the
 * answer may have been lost: for a minute, and as long as nobody has used what was answered. Every other one was stolen.
 */
export function decideRefresh(grant: GrantState, generation: number, now: number): TokenDecision {
  if (isOver(grant, now)) return { kind: "none" };
  if (generation === grant.generation) return { kind: "begin", generation: generation + 1 };
  const isUnused = grant.usedGeneration < grant.generation;
  const isLate = now - (grant.generationBeganAt ?? 0) > REPEAT_MS;
  return generation === grant.generation - 1 && (isUnused || !isLate)
    ? { kind: "repeat", generation: grant.generation }
    : { kind: "revoke" };
}

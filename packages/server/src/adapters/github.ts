import type { Github, GithubAccount } from "../core/github.ts";
import { DomainError } from "../domain-error.ts";

export type GithubOptions = {
  clientId: string;
  clientSecret: string;
  /** `https://github.com`, or a GitHub Enterprise server. */
  url: string;
  apiUrl: string;
};

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

type Email = { email?: unknown; primary?: unknown; verified?: unknown };

/** Source: GitHub Docs, "Authorizing OAuth apps" and "REST API endpoints for emails". */
export function createGithub({ clientId, clientSecret, url, apiUrl }: GithubOptions): Github {
  const ask = async (
    target: string,
    init: { method?: string; body?: URLSearchParams; headers?: Record<string, string> },
  ): Promise<unknown> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const headers = { accept: "application/json", "user-agent": "keelson", ...init.headers };
    try {
      // It has no reason to send us elsewhere, and the secret is not for there.
      const response = await fetch(target, { ...init, headers, signal, redirect: "error" });
      const text = await readText(response);
      if (response.status === 401 || response.status === 403) throw refused();
      if (!response.ok) throw new Error(`GitHub answered ${response.status}.`);
      return JSON.parse(text);
    } catch (cause) {
      if (cause instanceof DomainError) throw cause;
      throw new DomainError(
        "unavailable",
        "GitHub does not answer as it should. Try again, or sign in by mail.",
        null,
        { cause },
      );
    }
  };

  const exchange = async (code: string, verifier: string, redirectUri: string): Promise<string> => {
    const body = new URLSearchParams({
      client_id: clientId,
      client_secret: clientSecret,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
    const answer = (await ask(`${url}/login/oauth/access_token`, { method: "POST", body })) as {
      access_token?: unknown;
    } | null;
    // A code that is not good is answered with 200 and an error.
    if (typeof answer?.access_token !== "string") throw refused();
    return answer.access_token;
  };

  return {
    authorizeUrl: ({ state, challenge, redirectUri }) => {
      const query = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: "read:user user:email",
        state,
        code_challenge: challenge,
        code_challenge_method: "S256",
      });
      return `${url}/login/oauth/authorize?${query.toString()}`;
    },
    findAccount: async ({ code, verifier, redirectUri }): Promise<GithubAccount> => {
      const headers = { authorization: `Bearer ${await exchange(code, verifier, redirectUri)}` };
      const [user, emails] = await Promise.all([
        ask(`${apiUrl}/user`, { headers }),
        ask(`${apiUrl}/user/emails`, { headers }),
      ]);
      const { id, name } = (user ?? {}) as { id?: unknown; name?: unknown };
      if (typeof id !== "number") throw refused();
      const primary = (Array.isArray(emails) ? (emails as Email[]) : []).find((one) => one.primary === true);
      return {
        subject: String(id),
        name: typeof name === "string" && name !== "" ? name.slice(0, 128) : null,
        email: primary?.verified === true && isAscii(primary.email) ? primary.email : null,
      };
    },
  };
}

/** Others fold to addresses that are not theirs: the Kelvin sign is no k. */
const isAscii = (email: unknown): email is string =>
  typeof email === "string" && /^[!-~]{3,254}$/.test(email);

const refused = (): DomainError =>
  new DomainError("unauthenticated", "GitHub did not confirm the sign-in. Start it again.");

async function readText(response: Response): Promise<string> {
  const length = Number(response.headers.get("content-length") ?? 0);
  if (length > MAX_ANSWER_BYTES) throw new Error("GitHub's answer is too long.");
  return response.text();
}

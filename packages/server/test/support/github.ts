// GitHub as far as a sign-in sees it: it checks what it is sent as the real one does.

import { hash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface GithubPerson {
  id: number;
  name: string | null;
  emails: { email: string; primary: boolean; verified: boolean }[];
}

export interface TestGithub {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the browser is sent back to once the person has agreed. */
  agree(authorizeUrl: string, person: GithubPerson): string;
  stop(): Promise<void>;
}

export async function startGithub(): Promise<TestGithub> {
  const [clientId, clientSecret] = ["client", randomUUID()];
  const codes = new Map<string, { person: GithubPerson; challenge: string; redirectUri: string }>();
  const tokens = new Map<string, GithubPerson>();

  const exchange = (form: URLSearchParams): object => {
    const code = form.get("code") ?? "";
    const issued = codes.get(code);
    codes.delete(code);
    const isGood =
      issued !== undefined &&
      form.get("client_id") === clientId &&
      form.get("client_secret") === clientSecret &&
      form.get("redirect_uri") === issued.redirectUri &&
      hash("sha256", form.get("code_verifier") ?? "", "base64url") === issued.challenge;
    if (!isGood) return { error: "bad_verification_code" };
    const token = randomUUID();
    tokens.set(token, issued.person);
    return { access_token: token, token_type: "bearer", scope: "read:user,user:email" };
  };

  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const send = (status: number, value: unknown): void =>
        void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
      if (request.url === "/login/oauth/access_token") return send(200, exchange(new URLSearchParams(body)));
      const person = tokens.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
      if (person === undefined) return send(401, { message: "Bad credentials" });
      if (request.url === "/api/user") return send(200, { id: person.id, name: person.name, login: "x" });
      if (request.url === "/api/user/emails") return send(200, person.emails);
      return send(404, {});
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId,
    clientSecret,
    agree: (authorizeUrl, person) => {
      const query = new URL(authorizeUrl).searchParams;
      const code = randomUUID();
      const redirectUri = query.get("redirect_uri") ?? "";
      codes.set(code, { person, challenge: query.get("code_challenge") ?? "", redirectUri });
      const back = new URL(redirectUri);
      return `${back.pathname}?${new URLSearchParams({ code, state: query.get("state") ?? "" }).toString()}`;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

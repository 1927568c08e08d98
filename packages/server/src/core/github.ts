/** What GitHub says of whoever signed in there. */
export type GithubAccount = {
  /** The account's unchanging number, as text. */
  subject: string;
  name: string | null;
  /** The primary address, if GitHub has verified it. */
  email: string | null;
};

/** Sign-in by GitHub: OAuth 2.0 with PKCE (RFC 7636). */
export type Github = {
  authorizeUrl(options: { state: string; challenge: string; redirectUri: string }): string;
  /** @throws DomainError `unauthenticated` when GitHub does not accept the code, `unavailable` when it does not answer */
  findAccount(options: { code: string; verifier: string; redirectUri: string }): Promise<GithubAccount>;
};

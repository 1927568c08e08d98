import type { MasterKey } from "./master-key.ts";

/**
 * What a derived credential hangs on beside its id, and what an installation can change later: the tag of its cell, null
 * before it has one, and the number of its master key. Whatever remembers the id for a repeat remembers these with it.
 */
export type CredentialOrigin = { cell: string | null; keyNumber: number };

/** Finds the master key of a number. @throws DomainError `unavailable` for one that was made after this server started. */
export type Keyring = (keyNumber: number) => MasterKey;

/** As it is stored beside an id: only what an installation has that was given a tag, or another key. */
export type StoredOrigin = { cell?: string | undefined; key?: number | undefined };

export const storeOrigin = ({ cell, keyNumber }: CredentialOrigin): StoredOrigin => ({
  ...(cell !== null && { cell }),
  ...(keyNumber > 0 && { key: keyNumber }),
});

export const readOrigin = ({ cell, key: keyNumber }: StoredOrigin): CredentialOrigin => ({
  cell: cell ?? null,
  keyNumber: keyNumber ?? 0,
});

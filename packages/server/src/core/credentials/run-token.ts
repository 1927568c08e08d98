import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import { formatRunToken, readCredential, readRunToken, type Uuid } from "@keelson/contract";
import { uuidOfBytes } from "../../uuid.ts";
import type { MasterKey } from "./master-key.ts";

/** What a run's token stands for: a lease of the run, which its epoch tells from the ones before and after. */
export type RunLease = { environmentId: Uuid<"env">; runId: Uuid<"run">; epoch: number };

/**
 * Tokens of runs. A token says whose it is and proves it by a MAC under a key that is derived from the master key, so
 * nothing of it is stored and a lease costs no statement. Whether the lease is still held is asked of the database.
 */
export type RunTokens = {
  make(lease: RunLease): string;
  /** Null for a token that no server of this installation made. The form is already checked. */
  read(token: string): RunLease | null;
};

const UUID_BYTES = 16;
const EPOCH_AT = 2 * UUID_BYTES;
const LEASE_BYTES = EPOCH_AT + 4;
const MAC_BYTES = 16;

/** @param cell the tag that new tokens carry. A token without a tag is read too: a server without one made it. */
export function createRunTokens(masterKey: MasterKey, cell: string | null = null): RunTokens {
  const key = createSecretKey(createHmac("sha256", masterKey).update("run tokens").digest());
  return {
    make: ({ environmentId, runId, epoch }) => {
      const bytes = Buffer.alloc(LEASE_BYTES + MAC_BYTES);
      bytes.write(environmentId.replaceAll("-", ""), 0, "hex");
      bytes.write(runId.replaceAll("-", ""), UUID_BYTES, "hex");
      bytes.writeUInt32BE(epoch, EPOCH_AT);
      macOf(key, bytes.subarray(0, LEASE_BYTES), cell).copy(bytes, LEASE_BYTES, 0, MAC_BYTES);
      return formatRunToken(bytes, cell);
    },
    read: (token) => {
      const read = readRunToken(token);
      if (read === null) return null;
      const bytes = Buffer.from(read.buffer);
      const lease = bytes.subarray(0, LEASE_BYTES);
      const mac = macOf(key, lease, readCredential(token)?.cell ?? null);
      if (!timingSafeEqual(mac.subarray(0, MAC_BYTES), bytes.subarray(LEASE_BYTES))) return null;
      return {
        environmentId: uuidOfBytes(lease.subarray(0, UUID_BYTES)),
        runId: uuidOfBytes(lease.subarray(UUID_BYTES, EPOCH_AT)),
        epoch: lease.readUInt32BE(EPOCH_AT),
      };
    },
  };
}

/** The lease has a fixed length, so the tag after it cannot be taken for a part of it. */
function macOf(key: KeyObject, lease: Buffer, cell: string | null): Buffer {
  const mac = createHmac("sha256", key).update(lease);
  return (cell === null ? mac : mac.update(cell)).digest();
}

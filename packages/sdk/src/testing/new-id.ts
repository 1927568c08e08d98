import { encodeId, type IdPrefix } from "@keelson/contract/plain";

/** Random, so that idempotency keys which a test gives away are those of no other test. */
export const newId = (prefix: IdPrefix): string => encodeId(prefix, crypto.randomUUID() as string);

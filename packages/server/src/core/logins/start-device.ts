import { CREDENTIAL_KINDS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { DEVICE_CODE_MS, DEVICE_INTERVAL_SECONDS, userCodeOf } from "./login.ts";
import { insertDevice, type AskedGrant } from "./device-writes.ts";

export type StartedDevice = { deviceCode: string; userCode: string };

/** Of 20^8 codes hardly any is taken: a second try in a row that is, is no chance. */
const MAX_ATTEMPTS = 5;

/** Begins the sign-in of a device, which shows the user code and asks with the device code. */
export async function startDevice(
  tx: Tx,
  { clientId, oauth }: { clientId: string | null; oauth: AskedGrant | null },
  context: { makeCredential: MakeCredential; randomBytes: (count: number) => Uint8Array; now: number },
): Promise<StartedDevice> {
  const { makeCredential, randomBytes, now } = context;
  const { text: deviceCode, digest } = makeCredential(CREDENTIAL_KINDS.device);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const userCode = userCodeOf(randomBytes(32));
    const isNew = await insertDevice(tx, {
      digest,
      userCode,
      clientId,
      oauth,
      intervalSeconds: DEVICE_INTERVAL_SECONDS,
      expiresAt: now + DEVICE_CODE_MS,
      now,
    });
    if (isNew) return { deviceCode, userCode };
  }
  throw new Error("No free user code was found.");
}

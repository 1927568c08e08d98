import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { pack } from "tar-stream";
import { openArchive } from "./archive-reader.ts";
import { addEntry } from "./archive-writer.ts";
import { BackupError, DamagedBackupError } from "./backup.ts";

const MIB = 1024 * 1024;

async function archiveOf(names: readonly string[]): Promise<Buffer> {
  const archive = pack();
  const bytes = buffer(archive);
  for (const name of names) await addEntry(archive, name, new Date(0), Buffer.alloc(2 * MIB, name));
  archive.finalize();
  return bytes;
}

test("an archive that no backup has written is refused, wherever it is wrong, and let go of", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-archive-"));
  t.after(() => rm(folder, { recursive: true }));
  const refusedAs = async (bytes: Buffer, message: RegExp): Promise<void> => {
    const file = join(folder, "archive.tar");
    await writeFile(file, bytes);
    await assert.rejects(
      openArchive(file, () => undefined),
      (error: Error) => error instanceof DamagedBackupError && message.test(error.message),
    );
  };
  const whole = await archiveOf(["a", "b"]);
  await refusedAs(whole, /has no manifest/);
  // Much is left to read after the second one.
  await refusedAs(await archiveOf(["a", "a", "b", "c"]), /damaged: the header after a/);
  await refusedAs(whole.subarray(0, 3 * MIB), /damaged: the archive cannot be read after a/);
  await refusedAs(Buffer.concat([whole, Buffer.alloc(512)]), /damaged: something between its parts/);
  await refusedAs(Buffer.from("not an archive"), /damaged: the archive cannot be read after its beginning/);
  await assert.rejects(
    openArchive(join(folder, "absent.tar"), () => undefined),
    (error: Error) => {
      assert.ok(!(error instanceof BackupError));
      return "code" in error && error.code === "ENOENT";
    },
  );
});

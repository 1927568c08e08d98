import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";
import { openS3Blobs } from "../../src/adapters/s3-blobs.ts";

test("a bucket without the package that speaks to it ends the start with what to install", async (t) => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "@aws-sdk/client-s3")
        throw Object.assign(new Error("not installed"), { code: "ERR_MODULE_NOT_FOUND" });
      return next(specifier, context);
    },
  });
  t.after(() => hooks.deregister());
  const options = { bucket: "b", endpoint: null, region: "us-east-1", prefix: "", credentials: null };
  await assert.rejects(
    openS3Blobs(options),
    /S3_BUCKET is set, but the package @aws-sdk\/client-s3 is not installed/,
  );
});

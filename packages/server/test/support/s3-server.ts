// An object store that speaks enough of S3 over HTTP: one bucket, addressed by path, that checks what it is sent and
// fails as it is told to.

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { S3Options } from "../../src/adapters/s3-blobs.ts";

export type S3Server = {
  /** What a server is configured with to use it. */
  readonly options: S3Options;
  readonly objects: Map<string, Buffer>;
  /** Requests by their method, as they came. */
  readonly seen: string[];
  /** The next requests are answered so instead. */
  failNext(...failures: { status: number; code: string }[]): void;
  /** The next objects that are read have one bit flipped on their way. */
  flipNext(count: number): void;
  [Symbol.asyncDispose](): Promise<void>;
};

const BUCKET = "keelson-test";

const errorBody = (code: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/xml" }).end(errorBody(code));
}

/** What is signed is what came: the digest of the body is part of the signature. */
function isWhole(request: IncomingMessage, body: Buffer): boolean {
  const claimed = request.headers["x-amz-content-sha256"];
  const isSigned = request.headers.authorization?.startsWith("AWS4-HMAC-SHA256 Credential=test/") ?? false;
  return isSigned && claimed === createHash("sha256").update(body).digest("hex");
}

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const seen: string[] = [];
  const failures: { status: number; code: string }[] = [];
  let flips = 0;

  function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { pathname } = new URL(request.url ?? "", "http://store");
    const [, bucket, ...rest] = decodeURIComponent(pathname).split("/");
    const key = rest.join("/");
    seen.push(request.method ?? "");
    const failure = failures.shift();
    if (failure !== undefined) return refuse(response, failure.status, failure.code);
    if (!isWhole(request, body)) return refuse(response, 403, "SignatureDoesNotMatch");
    if (bucket !== BUCKET) return refuse(response, 404, "NoSuchBucket");
    if (key === "") return void response.end();
    const found = objects.get(key);
    switch (request.method) {
      case "PUT":
        objects.set(key, body);
        return void response.end();
      case "DELETE":
        objects.delete(key);
        return void response.writeHead(204).end();
      case "GET":
      case "HEAD": {
        if (found === undefined) return refuse(response, 404, "NoSuchKey");
        const content = Buffer.from(found);
        if (request.method === "GET" && flips > 0 && content.length > 0) {
          flips -= 1;
          content[0] = (content[0] ?? 0) ^ 1;
        }
        response.writeHead(200, { "content-length": content.length });
        return void response.end(request.method === "GET" ? content : undefined);
      }
      default:
        return refuse(response, 405, "MethodNotAllowed");
    }
  }

  const server = createServer((request, response) => {
    void buffer(request).then(
      (body) => answer(request, response, body),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    options: {
      bucket: BUCKET,
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: "us-east-1",
      prefix: "test/",
      credentials: { accessKeyId: "test", secretAccessKey: "secret" },
    },
    objects,
    seen,
    failNext: (...more) => void failures.push(...more),
    flipNext: (count) => {
      flips = count;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

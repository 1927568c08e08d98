/** What stands for a body that is no JSON, by its media type. */
const BY_MEDIA_TYPE: Record<string, string> = {
  "*/*": '{"event":"payment.settled","reference":"inv-2026-311"}',
  "application/json": '{"openapi":"3.1.0"}',
  "application/octet-stream": "hello\n",
  "application/x-ndjson":
    '{"id":"aud_01kahvn0a6f7c1s5w9n2q8t4kx","sequence":42,"action":"api_keys.revoke"}\n',
  "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"></svg>',
  "text/css": "body { margin: 0; }",
  "text/html": "<!doctype html>\n<title>Keelson</title>",
  "text/javascript": "export {};",
  "text/plain": 'keelson_http_requests_total{method="GET",status="200"} 1811\n',
};

export const rawExample = (mediaType: string): string => BY_MEDIA_TYPE[mediaType] ?? "…";

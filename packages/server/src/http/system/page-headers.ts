/**
 * Headers of pages: nothing of another origin is loaded or asked, nobody frames them, and links tell no one where they
 * came from. JSON answers need none of it.
 */
export const pageHeaders = (scripts: string): Record<string, string> => ({
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${scripts}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cache-control": "no-cache",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
});

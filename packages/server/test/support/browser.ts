// A caller that keeps cookies, as a browser does, and sends what a page of the server would.

import type { Answer, ApiServer } from "./api-server.ts";

export interface Browser {
  readonly cookies: ReadonlyMap<string, string>;
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
}

export function createBrowser(server: Pick<ApiServer, "url" | "call">): Browser {
  const cookies = new Map<string, string>();
  return {
    cookies,
    call: async (method, path, { body, headers = {} } = {}) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await server.call(method, path, {
        as: null,
        ...(body === undefined ? {} : { body }),
        headers: {
          ...(method === "GET" ? {} : { origin: server.url, "sec-fetch-site": "same-origin" }),
          ...(cookie === "" ? {} : { cookie }),
          ...headers,
        },
      });
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (name === undefined || value === undefined) continue;
        if (line.includes("Max-Age=0")) cookies.delete(name);
        else cookies.set(name, value);
      }
      return answer;
    },
  };
}

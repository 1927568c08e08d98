/**
 * Packages of others that pages import and this repository does not install: as much of their types as the pages use.
 * Written for hono 4.13, express 5.3 and @ai-sdk/openai 4.0, not compared with their own declarations; a page that uses more of one adds it here.
 */
export const OTHER_PACKAGES = `
declare module "hono" {
  type Context = {
    req: { json<T>(): Promise<T>; param(name: string): string };
    json(body: unknown, status?: number): Response;
  };
  export class Hono {
    get(path: string, handler: (c: Context) => Promise<Response>): this;
    post(path: string, handler: (c: Context) => Promise<Response>): this;
  }
}

declare module "express" {
  type Request = { body: unknown; params: Record<string, string | string[]> };
  type Response = { status(code: number): Response; json(body: unknown): Response };
  type Handler = (request: Request, response: Response) => void | Promise<void>;
  type Application = {
    use(handler: Handler): void;
    get(path: string, handler: Handler): void;
    post(path: string, handler: Handler): void;
  };
  function express(): Application;
  namespace express {
    function json(): Handler;
  }
  export default express;
}

declare module "@ai-sdk/openai" {
  import type { LanguageModel } from "ai";
  type Provider = (model: string) => LanguageModel;
  export function createOpenAI(options: { apiKey?: string }): Provider;
  export const openai: Provider;
}
`;

import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Run } from "@keelson/contract";
import { machineNowMs, percentile } from "../harness/statistics.ts";
import { waitForEnd } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

/**
 * P6: nothing else is under way; from the call of a start until its handler runs in the agent's process, p50 in
 * milliseconds. Both ends read the machine's one monotonic clock; the handler returns its reading as the output.
 * Expects an agent.
 */
export async function measureIdleStart(keelson: Keelson, samples: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const latencies: number[] = [];
  try {
    for (let i = 0; i < samples + 20; i += 1) {
      const calledAtMs = machineNowMs();
      const { id } = await post(keelson, agent);
      const { output } = await waitForEnd(keelson.api, id, 10_000);
      const runningAtMs = Number(BigInt((output as { runningAtNs: string }).runningAtNs)) / 1e6;
      if (i >= 20) latencies.push(runningAtMs - calledAtMs);
      await sleep(5);
    }
  } finally {
    agent.destroy();
  }
  return percentile(latencies, 0.5);
}

function post(keelson: Keelson, agent: Agent): Promise<Run> {
  const { promise, resolve, reject } = Promise.withResolvers<Run>();
  const headers = {
    authorization: `Bearer ${keelson.apiKey}`,
    "content-type": "application/json",
    "content-length": 2,
  };
  const sent = request(
    {
      agent,
      host: "127.0.0.1",
      port: keelson.port,
      method: "POST",
      path: "/v1/tasks/tell-time/start",
      headers,
    },
    (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => {
        const text = Buffer.concat(parts).toString();
        if (response.statusCode === 201) resolve(JSON.parse(text) as Run);
        else reject(new Error(`a start was answered ${response.statusCode}: ${text}`));
      });
    },
  );
  sent.on("error", reject);
  sent.end("{}");
  return promise;
}

/** Bodies that the document shows; a test checks them against the schemas. */

export const EXAMPLE_CREATE_TOKEN = {
  timeout: "3d",
  metadata: { question: "Send the offer to 412 customers?" },
  tags: ["approval"],
  idempotency_key: "offer-2026-11",
};

export const EXAMPLE_TOKEN = {
  id: "tok_01kahvt4n8fh7r2zj5v0c9x6qm",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  status: "pending",
  data: null,
  timeout_at: "2026-11-23T09:15:00.123Z",
  metadata: EXAMPLE_CREATE_TOKEN.metadata,
  tags: EXAMPLE_CREATE_TOKEN.tags,
  run_id: null,
  completed_at: null,
  completed_by: null,
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:00.123Z",
};

/** Made up: no installation has derived them. */
export const EXAMPLE_CREATED_TOKEN = {
  ...EXAMPLE_TOKEN,
  public_access_token: "kl_tkn_0000000000000000000000000000000000000",
  callback_url: `https://keelson.example.com/api/v1/tokens/${EXAMPLE_TOKEN.id}/callback/kl_tkn_0000000000000000000000000000000000000`,
};

export const EXAMPLE_COMPLETION = { data: { approved: true, note: "Go ahead." } };

export const exampleCompleted = (completedBy: { kind: string; id: string | null }): object => ({
  status: "completed",
  token: {
    ...EXAMPLE_TOKEN,
    status: "completed",
    data: EXAMPLE_COMPLETION.data,
    completed_at: "2026-11-20T11:02:41.007Z",
    completed_by: completedBy,
    updated_at: "2026-11-20T11:02:41.007Z",
  },
});

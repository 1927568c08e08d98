/** Bodies that the document shows; a test checks them against the schemas. */

export const EXAMPLE_CREATE_SECRET = { name: "MAIL_PASSWORD", value: "correct horse battery staple" };
export const EXAMPLE_PUT_SECRET = { value: "correct horse battery staple" };

export const EXAMPLE_SECRET = {
  id: "sec_01kahvw2n9e3rv5t8c1z6p4m0d",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  name: "MAIL_PASSWORD",
  status: "active",
  version: 2,
  rotated_at: "2026-11-20T09:15:00.123Z",
  revoked_at: null,
  last_used_at: "2026-11-20T09:14:31.007Z",
  created_at: "2026-11-18T16:02:44.581Z",
  updated_at: "2026-11-20T09:15:00.123Z",
};

import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type UserRow = {
  id: Uuid<"user">;
  email: string;
  name: string | null;
  isAdmin: boolean;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`id, email, name, is_admin, created_at, updated_at`);

export async function findUser(db: Queryable, userId: Uuid<"user">): Promise<UserRow | null> {
  const [row] = await db.query<UserRow>(sql`SELECT ${COLUMNS} FROM users WHERE id = ${userId}`);
  return row ?? null;
}

export async function findUserByEmail(db: Queryable, email: string): Promise<UserRow | null> {
  const [row] = await db.query<UserRow>(
    sql`SELECT ${COLUMNS} FROM users WHERE lower(email) = lower(${email})`,
  );
  return row ?? null;
}

export async function isSuspended(db: Queryable, userId: Uuid<"user">): Promise<boolean> {
  const rows = await db.query(
    sql`SELECT 1 AS found FROM users WHERE id = ${userId} AND suspended_at IS NOT NULL`,
  );
  return rows.length > 0;
}

/** Advisory locks of the database. What a lock is for is said where it is taken. */

/** Shared by all who decide that blobs go or rows become packs; held alone by a backup that is being written. */
export const REMOVAL_LOCK = 7_233_101_879;

/** Held by the one transaction that drops what was kept long enough, or by a backup that is being written. */
export const RETENTION_LOCK = 7_233_101_880;

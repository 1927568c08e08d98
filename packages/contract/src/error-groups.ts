/** What people have said of an error group. */
export const ERROR_GROUP_STATUSES = ["open", "resolved", "muted"] as const;
export type ErrorGroupStatus = (typeof ERROR_GROUP_STATUSES)[number];

/** By what error groups are listed, the greatest first. */
export const ERROR_GROUP_ORDERS = ["last_seen", "count"] as const;
export type ErrorGroupOrder = (typeof ERROR_GROUP_ORDERS)[number];

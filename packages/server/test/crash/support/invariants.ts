// What holds of the tables at every moment, whatever fails. One statement sees one moment, so it may be asked at any time.

import assert from "node:assert/strict";
import { sql } from "../../../src/db/sql.ts";
import type { Database } from "../../../src/db/pool.ts";

const SESSION_RULES = sql`
    SELECT 'records are numbered without gaps' AS rule, t.id::text AS of
    FROM streams t LEFT JOIN LATERAL (
      SELECT count(*) AS count, coalesce(max(sequence), 0) AS last FROM stream_records r
      WHERE r.environment_id = t.environment_id AND r.stream_id = t.id) r ON true
    WHERE r.count <> t.last_sequence - t.kept_after OR r.last <> CASE WHEN r.count = 0 THEN 0 ELSE t.last_sequence END
    UNION ALL
    SELECT 'one open session has an external id', min(external_id) FROM sessions
    WHERE status = 'open' AND external_id IS NOT NULL GROUP BY environment_id, external_id HAVING count(*) > 1
    UNION ALL
    SELECT 'a session has one live run at most, and as many runs as turns', s.id::text
    FROM sessions s LEFT JOIN lives l ON l.environment_id = s.environment_id AND l.session_id = s.id
    WHERE l.runs IS NULL OR l.live > 1 OR s.turn <> l.runs OR s.turn <> l.last_turn OR s.turn <> l.turns
    UNION ALL
    SELECT 'the run of a session is live, is to be told of, or the session is idle or has ended', s.id::text
    FROM sessions s
    LEFT JOIN executions e ON e.environment_id = s.environment_id AND e.run_id = s.current_run_id
    LEFT JOIN awaited_endings a ON a.environment_id = s.environment_id AND a.run_id = s.current_run_id
    WHERE s.status = 'open' AND (s.idle = (e.run_id IS NOT NULL OR a.run_id IS NOT NULL) OR e.end_awaited = false)
    UNION ALL
    SELECT 'the gate of a stream says how its session is', t.id::text
    FROM streams t JOIN sessions s ON s.environment_id = t.environment_id AND s.id = t.session_id
    WHERE t.gate <> CASE WHEN s.status <> 'open' THEN 'ended' WHEN s.idle AND t.direction = 'input' THEN 'idle' ELSE 'open' END`;

const RUN_RULES = sql`
    SELECT 'a run is either live or ended', r.id::text
    FROM runs r
    LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
    LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id
    WHERE (e.run_id IS NULL) = (x.run_id IS NULL)
    UNION ALL
    SELECT 'counts are the truth', coalesce(c.status, s.status)
    FROM (SELECT environment_id, status, sum(count) AS count FROM run_counts GROUP BY 1, 2) c
    FULL JOIN (SELECT environment_id, status, count(*) AS count FROM states GROUP BY 1, 2) s USING (environment_id, status)
    WHERE coalesce(c.count, 0) <> coalesce(s.count, 0)
    UNION ALL
    SELECT 'a journal is numbered without gaps, as its run says', j.run_id::text
    FROM (SELECT environment_id, run_id, count(*) AS count, max(sequence) AS last, count(DISTINCT position) AS positions
          FROM run_journal GROUP BY 1, 2) j
    LEFT JOIN executions e ON e.environment_id = j.environment_id AND e.run_id = j.run_id
    WHERE j.last <> j.count OR j.positions <> j.count OR e.journal_sequence <> j.last
    UNION ALL
    SELECT 'a stored event follows another one, or the first four, which are implied', v.run_id::text
    FROM (SELECT environment_id, run_id, sequence,
            coalesce(lag(last_sequence) OVER (PARTITION BY environment_id, run_id ORDER BY sequence), 0) AS before
          FROM run_events) v
    WHERE v.sequence <= v.before OR (v.sequence > v.before + 1 AND v.sequence > 5)
    UNION ALL
    SELECT 'the last event of a run is stored, or it is the end or one of the first four, which are implied', c.run_id::text
    FROM (SELECT environment_id, run_id, event_sequence AS last, event_sequence AS needed FROM executions
          UNION ALL SELECT environment_id, run_id, event_sequence, event_sequence - 1 FROM run_results) c
    LEFT JOIN LATERAL (SELECT max(last_sequence) AS last FROM run_events v
      WHERE v.environment_id = c.environment_id AND v.run_id = c.run_id) v ON true
    WHERE v.last > c.last OR c.needed > greatest(v.last, 4)`;

const WAIT_RULES = sql`
    SELECT 'a wait settles once, and its run is told so', w.run_id || ' ' || w.position
    FROM run_waits w LEFT JOIN tellings k ON k.run_id = w.run_id AND k.position = w.position
    WHERE w.kind <> 'message'
    GROUP BY w.run_id, w.position, w.status
    HAVING count(k.kind) <> CASE WHEN w.status IN ('resolved', 'timed_out') THEN 1 ELSE 0 END
      OR (w.status = 'resolved' AND min(k.kind) = 'wait.timed_out') OR (w.status = 'timed_out' AND min(k.kind) = 'wait.resolved')
    UNION ALL
    SELECT 'only what has not come is waited for', w.run_id || ' ' || w.position
    FROM run_waits w
    LEFT JOIN tokens t ON t.environment_id = w.environment_id AND t.id = w.token_id
    LEFT JOIN streams s ON s.environment_id = w.environment_id AND s.id = w.stream_id
    LEFT JOIN messages m ON m.environment_id = w.environment_id AND m.id = w.message_id
    LEFT JOIN executions e ON e.environment_id = w.environment_id AND e.run_id = w.run_id
    LEFT JOIN executions c ON c.environment_id = w.environment_id AND c.run_id = w.child_run_id
    LEFT JOIN awaited_endings a ON a.environment_id = w.environment_id AND a.run_id = w.child_run_id
    WHERE w.status = 'pending' AND (e.run_id IS NULL OR t.status <> 'pending' OR (w.kind = 'input' AND s.gate = 'ended')
      OR m.status <> 'open' OR m.interrupt_requested_at IS NOT NULL
      OR w.record_sequence <= s.last_sequence OR (w.child_run_id IS NOT NULL AND a.run_id IS NULL AND NOT coalesce(c.end_awaited, false)))
    UNION ALL
    SELECT 'a run that waits has something to wait for', e.run_id::text
    FROM executions e
    WHERE e.status = 'waiting' AND NOT EXISTS (
      SELECT FROM run_waits w WHERE w.environment_id = e.environment_id AND w.run_id = e.run_id AND w.status = 'pending'
        AND w.kind <> 'message')
    UNION ALL
    SELECT 'a parked or suspended run has not been told anything new', e.run_id::text
    FROM executions e JOIN run_waits w ON w.environment_id = e.environment_id AND w.run_id = e.run_id
    WHERE e.status = 'waiting' AND w.status <> 'pending' AND NOT w.accepted
    UNION ALL
    SELECT 'a session has received as far as its runs have', t.id::text
    FROM streams t JOIN run_waits w ON w.environment_id = t.environment_id AND w.stream_id = t.id AND w.status = 'resolved'
    WHERE w.record_sequence > t.received_sequence
    UNION ALL
    SELECT 'a withdrawn record is received by nobody', w.stream_id || ' ' || w.record_sequence
    FROM run_waits w JOIN stream_records r ON r.environment_id = w.environment_id AND r.stream_id = w.stream_id
      AND r.sequence = w.record_sequence AND r.withdrawn_at IS NOT NULL
    WHERE w.status = 'resolved'
    UNION ALL
    SELECT 'a record is received once', w.stream_id || ' ' || w.record_sequence
    FROM run_waits w WHERE w.status = 'resolved' AND w.record_sequence IS NOT NULL AND w.stream_id IS NOT NULL
    GROUP BY w.environment_id, w.stream_id, w.record_sequence HAVING count(*) > 1`;

/** Dropped runs stay counted, and a dropped group is made again from its next run. */
const ERROR_RULES = sql`
    SELECT 'a run of an error group is among its runs, and the other way round', coalesce(x.run_id, s.run_id)::text
    FROM (SELECT environment_id, run_id, error_group_id FROM run_results WHERE error_group_id IS NOT NULL) x
    FULL JOIN error_group_runs s USING (environment_id, run_id, error_group_id)
    WHERE x.run_id IS NULL OR s.run_id IS NULL
    UNION ALL
    SELECT 'an error group has counted what is marked so', g.id::text
    FROM error_groups g
    JOIN (SELECT environment_id, error_group_id AS id, count(*) AS count FROM error_group_runs WHERE counted GROUP BY 1, 2) s
      USING (environment_id, id)
    WHERE g.count < s.count`;

/** Each rule with the rows that break it. */
const findViolations = (db: Database): Promise<{ rule: string; of: string }[]> =>
  db.query(sql`
    WITH continued AS (
      SELECT v.run_id, max(v.sequence + t.place) AS place
      FROM run_events v, jsonb_array_elements(v.events::jsonb) WITH ORDINALITY t (e, place)
      WHERE t.e ->> 'k' = 'run.continued' GROUP BY v.run_id
    ), tellings AS (
      SELECT v.run_id, t.e ->> 'k' AS kind, (t.e -> 'x' ->> 'position')::integer AS position
      FROM run_events v
      CROSS JOIN jsonb_array_elements(v.events::jsonb) WITH ORDINALITY t (e, place)
      LEFT JOIN continued c ON c.run_id = v.run_id
      -- The positions of a run that continues begin again.
      WHERE t.e ->> 'k' IN ('wait.resolved', 'wait.timed_out') AND v.sequence + t.place > coalesce(c.place, 0)
    ), states AS (
      SELECT environment_id, status FROM executions UNION ALL SELECT environment_id, status FROM run_results
    ), lives AS (
      SELECT r.environment_id, r.session_id, count(*) AS runs, count(e.run_id) AS live, max(r.turn) AS last_turn,
        count(DISTINCT r.turn) AS turns
      FROM runs r LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
      WHERE r.session_id IS NOT NULL GROUP BY 1, 2
    )
    ${SESSION_RULES} UNION ALL ${RUN_RULES} UNION ALL ${WAIT_RULES} UNION ALL ${ERROR_RULES}`);

export async function checkInvariants(db: Database, when: string): Promise<void> {
  assert.deepEqual(await findViolations(db), [], when);
}

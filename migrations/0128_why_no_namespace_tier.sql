-- Why the namespace tier was not confirmed on the worker's machine, as the worker said when it last registered. It is not
-- looked at while `isolation` says otherwise: a server of an earlier version changes that alone.
ALTER TABLE workers ADD COLUMN isolation_problem text;

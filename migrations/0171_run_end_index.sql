-- Nearly empty at first: PostgreSQL reads the table once for it, and sorts next to nothing. Apart from the column, so that results
-- can be read meanwhile.
CREATE INDEX run_results_end_number ON run_results (end_number) WHERE end_number IS NOT NULL;

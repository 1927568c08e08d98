-- What of a folder its version has under another name, or not at all: JSON, null when it has everything as it was.
ALTER TABLE workspace_versions ADD COLUMN notes text;

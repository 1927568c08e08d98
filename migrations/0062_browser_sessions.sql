-- A session that a browser was given for one at hand, such as that of the first start's login link.

ALTER TABLE user_sessions DROP CONSTRAINT user_sessions_method_check;
ALTER TABLE user_sessions ADD CONSTRAINT user_sessions_method_check
  CHECK (method IN ('first_start', 'magic_link', 'device', 'github', 'invitation', 'browser'));

-- Something new may be taken. Never on a claim or an ending: a commit that notifies takes a lock of the whole server.
-- $1 channel  $2 payload
SELECT true FROM pg_notify($1, $2)

SET LOCAL search_path = archi3d;

-- Of a job that a person has tried again: whether they said that what may have been billed is bought again.
ALTER TABLE jobs ADD COLUMN resubmit boolean NOT NULL DEFAULT false;

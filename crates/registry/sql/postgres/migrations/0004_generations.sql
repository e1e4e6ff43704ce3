-- Versions by the identifier under which the stores keep them: an object is found by what lies in a store.
CREATE INDEX versions_by_generation ON versions (generation, number);

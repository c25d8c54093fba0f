CREATE TABLE maxentry_schema (version INTEGER NOT NULL);
CREATE TABLE maxentry_campaigns (
    id INTEGER NOT NULL PRIMARY KEY,
    uuid VARCHAR(36) NOT NULL UNIQUE,
    name VARCHAR(200) NOT NULL UNIQUE,
    created_at VARCHAR(40) NOT NULL
);
CREATE TABLE maxentry_events (
    campaign_id INTEGER NOT NULL REFERENCES maxentry_campaigns (id),
    number INTEGER NOT NULL,
    at VARCHAR(40) NOT NULL,
    kind VARCHAR(40) NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (campaign_id, number)
);
INSERT INTO maxentry_schema VALUES (1);
INSERT INTO maxentry_campaigns VALUES (1, '6f1b1c7e-4a53-4b52-9f0e-0d6c8a3f2b11', 'kinase', '2030-01-01T00:00:00+00:00');
INSERT INTO maxentry_events VALUES (1, 1, '2030-01-01T00:01:00+00:00', 'created',
    '{"name":"kinase","rows":["a","b"],"cols":["x","y","z"],"seed":1,"rank":"auto","acquisition":"predictive_variance","noise":"gaussian","effects":true,"priors":null,"transform":"none","range":null,"costs":null,"mask":null,"lease":null,"n_initial":null,"again":false,"target_sd":null,"budget":null,"per_row":null,"per_col":null,"plates":null}');
INSERT INTO maxentry_events VALUES (1, 2, '2030-01-01T00:02:00+00:00', 'asked',
    '{"first":1,"rows":[0,1,1],"cols":[0,2,1],"mean":[null,null,null],"sd":[null,null,null],"gain":[null,null,null],"cost":[1.0,1.0,1.0],"based_on":1,"expires_at":null,"why":"initial"}');
INSERT INTO maxentry_events VALUES (1, 3, '2030-01-01T00:03:00+00:00', 'told',
    '{"ids":[1,2],"rows":[0,1],"cols":[0,2],"values":[0.5,0.25]}');

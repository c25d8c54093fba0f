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
    who VARCHAR(200),
    payload TEXT NOT NULL,
    digest VARCHAR(64),
    PRIMARY KEY (campaign_id, number)
);
INSERT INTO maxentry_schema VALUES (3);
INSERT INTO maxentry_campaigns VALUES (1, '0c2a6a3e-52f3-4ab8-9d3c-6a5b7e1f4d22', 'kinase', '2030-01-01T00:00:00+00:00');
INSERT INTO maxentry_events VALUES (1, 1, '2030-01-01T00:00:00+00:00', 'created', 'ann',
    '{"name":"kinase","rows":["a","β",{"date":"2030-01-01"},{"tuple":["d",4]}],"cols":["x",2,3.5],"seed":1,"rank":2,"acquisition":"maxent","noise":"student","effects":false,"priors":"paper","transform":"logit(0, 100)","range":[0.0,null],"costs":{"entry":{"shape":[4,3],"float64":"eJxjYACBC/YMNKIBReIMtQ=="},"row":{"shape":[4],"float64":"eJxjYACBD/YMEOAAoTigtIADACXXAgg="},"col":{"shape":[3],"float64":"eJxjYACBB/YMKPQHewAhHQNu"}},"mask":{"shape":[4,3],"bool":"eJz7/wAAAuAB4A=="},"lease":3600.0,"n_initial":3,"again":true,"target_sd":0.5,"budget":100.0,"per_row":2,"per_col":3,"plates":null}',
    'e505f3a2a160f0ab661faeae463b398ac5723abb2a7a0e1b8621e65e13e4b478');
INSERT INTO maxentry_events VALUES (1, 2, '2030-01-01T00:01:00+00:00', 'asked', 'ann',
    '{"first":1,"rows":[0,0,0,1],"cols":[0,1,2,0],"mean":[null,null,null,null],"sd":[null,null,null,null],"gain":[null,null,null,null],"cost":[1.75,1.75,2.25,2.75],"based_on":1,"expires_at":"2030-01-01T01:01:00+00:00","why":"as good as any"}',
    '502a98beca3a0402a72acb2651be696d58de87f70d58cf151f6cd23b5568929d');
INSERT INTO maxentry_events VALUES (1, 3, '2030-01-01T00:02:00+00:00', 'told', 'bob',
    '{"ids":[1,2],"rows":[0,0],"cols":[0,1],"values":[10.5,20.25]}',
    '886f340640fdc3fab78ec7e767a37066ba284ccbf97af1c382966aa5a4116ee8');
INSERT INTO maxentry_events VALUES (1, 4, '2030-01-01T00:03:00+00:00', 'told', 'bob',
    '{"ids":[null],"rows":[3],"cols":[2],"values":[0.001]}',
    'f24e482379a75294ec4e6059583e906e37fa57cc7f83e2dacfa681e5daa5855a');
INSERT INTO maxentry_events VALUES (1, 5, '2030-01-01T00:04:00+00:00', 'corrected', 'ann',
    '{"number":1,"value":11.5,"reason":"a slip"}',
    'ee346fd673c815c1c034613d80d4f59a619bc69176ab64e52c7d21b400db64a7');
INSERT INTO maxentry_events VALUES (1, 6, '2030-01-01T00:05:00+00:00', 'corrected', 'ann',
    '{"number":2,"value":null,"reason":"contaminated"}',
    '9c0a9ce06c424c1203e1a4965999b13876972648ad3fdcd5331bc7dfdcb26f71');
INSERT INTO maxentry_events VALUES (1, 7, '2030-01-01T00:06:00+00:00', 'failed', 'bob',
    '{"ids":[3],"reasons":["no colour"],"retry":false}',
    'f78443b95c9245521309ff2a8335c7e9039c9819342872a42991936056aeb2d5');
INSERT INTO maxentry_events VALUES (1, 8, '2030-01-01T00:07:00+00:00', 'withdrawn', 'bob',
    '{"ids":[4],"reason":"out of time"}',
    '28d92b88216972792227692f294d43a1a3afe298c339974bd40ec81e0d434aba');
INSERT INTO maxentry_events VALUES (1, 9, '2030-01-01T00:08:00+00:00', 'rows_added', 'ann',
    '{"labels":["new"],"cost":[5.0]}',
    'd7ae703c5fd488fd80669895c05ba8b14e9b0af3de8d8635dfd71817b8947a72');
INSERT INTO maxentry_events VALUES (1, 10, '2030-01-01T00:09:00+00:00', 'cols_added', 'ann',
    '{"labels":[{"datetime":"2030-01-02T03:04:00"}],"cost":null}',
    '7c64a9ba15fceeac8e7f7f652aa3022baeaf14eb1f9577b5f7365c564fc6f168');
INSERT INTO maxentry_events VALUES (1, 11, '2030-01-01T00:10:00+00:00', 'changed', 'ann',
    '{"budget":50.0,"mask":null,"costs":{"col":{"shape":[4],"float64":"eJxjYACBD/YMWGkGBwA/jQPO"}},"range":[0.0,99.0],"per_row":null,"per_col":null,"plates":"cols","lease":null}',
    '07d1d801e2816ee346e6c633de380b1c392eb98a31acf7dd95a883ed369b9f27');

-- A file of version 1, as the first release with files wrote it.
PRAGMA application_id = 1937011315;
PRAGMA user_version = 1;
PRAGMA auto_vacuum = 2;
BEGIN TRANSACTION;
CREATE TABLE acknowledged (
      resource INTEGER NOT NULL,
      producer TEXT NOT NULL,
      seq INTEGER NOT NULL,
      append BLOB NOT NULL,
      epoch INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      length INTEGER NOT NULL,
      state TEXT NOT NULL,
      digest TEXT,
      PRIMARY KEY (resource, producer, seq)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "acknowledged" VALUES(1,'p',0,X'86596F35E152232E8E83428440C991F6',133148878298312,1,13,'open',NULL);
INSERT INTO "acknowledged" VALUES(1,'p',1,X'4BFE41F267EF7C094C7A03FAA816A56B',133148878298312,2,26,'open',NULL);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "counter" VALUES('change',12);
INSERT INTO "counter" VALUES('content',5);
INSERT INTO "counter" VALUES('list',4);
CREATE TABLE discarded (content INTEGER PRIMARY KEY, at REAL NOT NULL) STRICT;
INSERT INTO "discarded" VALUES(4,1700000000.0);
CREATE TABLE document (
      content INTEGER PRIMARY KEY,
      length INTEGER NOT NULL,
      data BLOB NOT NULL
    ) STRICT;
INSERT INTO "document" VALUES(3,0,X'7B227374657073223A5B5D7D');
CREATE TABLE piece (
      content INTEGER NOT NULL,
      begin INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      ends BLOB NOT NULL,
      data BLOB NOT NULL,
      PRIMARY KEY (content, begin)
    ) STRICT;
INSERT INTO "piece" VALUES(1,0,1,X'0D000000',X'636F6D70696C696E6720C3A90A');
INSERT INTO "piece" VALUES(1,13,2,X'0D000000',X'6C696E6B696E6720F09F98800A');
INSERT INTO "piece" VALUES(2,0,1,X'',X'00FF');
INSERT INTO "piece" VALUES(2,2,1,X'02000000',X'0102');
INSERT INTO "piece" VALUES(3,0,1,X'29000000',X'7B226F70223A22616464222C2270617468223A222F73746570732F2D222C2276616C7565223A307D2C');
INSERT INTO "piece" VALUES(3,41,2,X'29000000',X'7B226F70223A22616464222C2270617468223A222F73746570732F2D222C2276616C7565223A317D2C');
INSERT INTO "piece" VALUES(3,82,3,X'29000000',X'7B226F70223A22616464222C2270617468223A222F73746570732F2D222C2276616C7565223A327D2C');
INSERT INTO "piece" VALUES(4,0,1,X'',X'6F6C64');
INSERT INTO "piece" VALUES(5,0,1,X'',X'6E657720C3A9');
CREATE TABLE producer (
      resource INTEGER NOT NULL,
      producer TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      next_seq INTEGER NOT NULL,
      PRIMARY KEY (resource, producer)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "producer" VALUES(1,'p',3,2);
CREATE TABLE resource (
      id INTEGER PRIMARY KEY,
      uri TEXT NOT NULL UNIQUE,
      description TEXT NOT NULL,
      content INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      length INTEGER NOT NULL,
      state TEXT NOT NULL,
      digest TEXT,
      floor INTEGER NOT NULL,
      floor_length INTEGER NOT NULL,
      change INTEGER NOT NULL,
      changed_at REAL NOT NULL
    ) STRICT;
INSERT INTO "resource" VALUES(1,'build://7/log','{"uri":"build://7/log","name":"log","kind":"text","mime_type":"text/plain","title":"Log","description":null,"audience":["user"]}',1,133148878298312,2,26,'open',NULL,0,0,3,1700000000.0);
INSERT INTO "resource" VALUES(2,'build://7/core','{"uri":"build://7/core","name":"core","kind":"blob","mime_type":"application/octet-stream","title":null,"description":null,"audience":[]}',2,40021786474907,1,4,'complete','sha-256=:L4e+rLanH3XjJDzgBfr12ZQF4Ctecpx8nCFu8uKgVEo=:',0,2,5,1700000000.0);
INSERT INTO "resource" VALUES(3,'build://7/plan','{"uri":"build://7/plan","name":"plan","kind":"json","mime_type":"application/json","title":null,"description":null,"audience":[]}',3,200030867851232,3,123,'open',NULL,1,41,10,1700000000.0);
INSERT INTO "resource" VALUES(4,'build://7/page','{"uri":"build://7/page","name":"page","kind":"text","mime_type":"text/plain","title":null,"description":null,"audience":[]}',5,245008152653795,0,6,'open',NULL,0,6,12,1700000000.0);
CREATE INDEX resource_change ON resource (change);
CREATE INDEX piece_revision ON piece (content, revision);
COMMIT;

// Follows a resource from its beginning to its seal, each read held by the server until there is news, and proves that
// it has every byte.
import { createHash } from 'node:crypto';
import { connect, STREAM } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, uri] = process.argv.slice(2);
const client = await connect(kind, target);
say({ connected: kind });
await told();

let pieces = [];
let stream = {};
do {
  const asked = { since: stream.cursor, waitMs: 20_000 };
  const result = await client.readResource({ uri, _meta: { [STREAM]: asked } });
  stream = result._meta[STREAM];
  if (!stream.delta) pieces = []; // a snapshot: the beginning, or the resource has another life
  const { text, blob } = stream.delta ?? result.contents[0];
  pieces.push(Buffer.from(text ?? blob, blob === undefined ? 'utf8' : 'base64'));
  say({ piece: text ?? blob, ...stream });
} while (stream.state === 'open' || stream.more);

const whole = Buffer.concat(pieces);
const digest = createHash('sha256').update(whole).digest('base64');
say({ bytes: whole.length, proven: stream.digest === `sha-256=:${digest}:` });
await client.close();

// Says what the client knows of two refusals: a resource that is not there, and a cursor that is none.
import { connect, STREAM } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, uri, nowhere] = process.argv.slice(2);
const client = await connect(kind, target);
say({ connected: kind });
await told();

for (const params of [{ uri: nowhere }, { uri, _meta: { [STREAM]: { since: 'no cursor' } } }]) {
  const error = await client.readResource(params).catch(error => error);
  say({ type: error.constructor.name, code: error.code, data: error.data });
}
await client.close();

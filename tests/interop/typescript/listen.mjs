// Subscribes to a resource, hears its cursor in the `_meta` of each update, and reads what it has not got yet.
import { connect, STREAM } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, uri] = process.argv.slice(2);
const client = await connect(kind, target, 'meta');
say({ connected: kind });
await told();

let since; // what we have; nothing at first
async function read() {
  const { _meta } = await client.readResource({ uri, _meta: { [STREAM]: { since } } });
  since = _meta[STREAM].cursor;
  return _meta[STREAM];
}

let reading = Promise.resolve(); // one read at a time: updates can come faster than answers
client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
  reading = reading.then(async () => say({ updated: params, read: await read() }));
});
const subscription = await client.listen({ resourceSubscriptions: [uri] });
reading = reading.then(async () => say({ honoured: subscription.honoredFilter, read: await read() }));

const closed = await subscription.closed;
await reading;
say({ closed });
await told();
await client.close();

// Subscribes to the deltas themselves, and hears them in the client's `typed` handler or in its `fallback` handler.
import { connect } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, uri, handler] = process.argv.slice(2);
const client = await connect(kind, target, 'fields');
say({ connected: kind });
await told();

const hear = async ({ params }) => say({ updated: params });
if (handler === 'typed') client.setNotificationHandler('notifications/resources/updated', hear);
else client.fallbackNotificationHandler = hear;

const { cursor: since } = await client.readResource({ uri });
const subscription = await client.listen({ resourceStreams: { [uri]: { since, deliver: 'delta' } } });
say({ since, honoured: subscription.honoredFilter });
say({ closed: await subscription.closed });
await told();
await client.close();

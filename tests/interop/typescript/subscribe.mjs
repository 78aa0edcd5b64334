// Subscribes to two resources as clients of the older versions do, then unsubscribes from the first, and hears of each
// update meanwhile.
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { connect } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, first, second] = process.argv.slice(2);
const client = await connect(kind, target);
const updated = kind === 'sdk1' ? ResourceUpdatedNotificationSchema : 'notifications/resources/updated';
client.setNotificationHandler(updated, ({ params }) => say({ updated: params }));
say({ capabilities: client.getServerCapabilities() });
await told();

await client.subscribeResource({ uri: first });
await client.subscribeResource({ uri: second });
say({ subscribed: [first, second] });
await told();

await client.unsubscribeResource({ uri: first });
say({ unsubscribed: first });
await told();
await client.transport.terminateSession?.(); // over HTTP
await client.close();

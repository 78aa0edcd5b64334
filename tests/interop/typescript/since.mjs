// Reads what came since a cursor, in each of the three ways: by `_meta`, by a field, and by the resource's template.
import { UriTemplate } from '@modelcontextprotocol/client';
import { connect, STREAM } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, uri] = process.argv.slice(2);
const client = await connect(kind, target);
say({ connected: kind });
await told();

const first = await client.readResource({ uri, _meta: { [STREAM]: {} } });
const since = first._meta[STREAM].cursor;
const { resourceTemplates } = await client.listResourceTemplates();
const { uriTemplate } = resourceTemplates.find(entry => entry.uriTemplate.startsWith(`${uri}{`));
const template = new UriTemplate(uriTemplate);
say(first);
await told();

say({
  meta: await client.readResource({ uri, _meta: { [STREAM]: { since } } }),
  fields: await client.readResource({ uri, since }),
  uri: await client.readResource({ uri: template.expand({ since }) }),
  whole: await client.readResource({ uri })
});
await client.close();

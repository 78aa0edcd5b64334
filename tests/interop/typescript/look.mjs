// Lists the resources and their templates and reads each resource whole, at every line that it is given.
import { connect } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, binding] = process.argv.slice(2);
const client = await connect(kind, target, binding);
say({
  version: client.getNegotiatedProtocolVersion?.(), // sdk1 does not tell
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities()
});
while (await told()) {
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  const reads = [];
  for (const { uri } of resources) reads.push(await client.readResource({ uri }));
  say({ resources, resourceTemplates, reads });
}
await client.close();

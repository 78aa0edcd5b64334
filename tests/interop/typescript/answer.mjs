// Calls a tool that asks for a name and answers it, then one with an argument that a header repeats.
import { connect } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, name, region] = process.argv.slice(2);
const client = await connect(kind, target, undefined, { elicitation: {} });
const asked = [];
client.setRequestHandler('elicitation/create', ({ params }) => {
  asked.push(params.message);
  return { action: 'accept', content: { name } };
});
await client.listTools(); // the header stands in the schema
say({
  greeting: await client.callTool({ name: 'greet' }),
  place: await client.callTool({ name: 'locate', arguments: { region } }),
  asked
});
await told();
await client.close();

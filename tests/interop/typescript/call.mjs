// Lists the tools, then calls `build` at the next line, and says what it hears before the result: progress, and, where
// it speaks the new era, outputs and partial results. It always sends a token for those; that it takes them, it declares
// where `takes` is `partials`.
import { connect } from './connect.mjs';
import { say, told } from './lines.mjs';

const [kind, target, binding, takes] = process.argv.slice(2);
const client = await connect(kind, target, binding, takes === 'partials' ? { partialResults: {} } : {});
const anything = { '~standard': { version: 1, vendor: 'tested', validate: value => ({ value }) } };
if (kind === 'auto')
  for (const name of ['outputs', 'partial_result'])
    client.setNotificationHandler(`notifications/tools/${name}`, { params: anything }, params => say({ [name]: params }));
const { tools } = await client.listTools();
say({ tools });
await told();

const call = { name: 'build', _meta: { partialResultToken: 'prt' } };
const options = { onprogress: progress => say({ progress }) };
const result = await (kind === 'sdk1' ? client.callTool(call, undefined, options) : client.callTool(call, options));
say({ result });
await told();
await client.close();

// Calls `deploy` with ext-tasks, answers what the task asks, and says each state that it sees and how it ends.
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createApplicationInputHandler, createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { ABOUT, EXTENSION, connect } from './connect.mjs';
import { say, told } from './lines.mjs';

const [target, name] = process.argv.slice(2);
const client = await connect('auto', target);

// The client takes no result of a task, so ext-tasks wants a way of its host's for them: a second official transport.
const transport = new StreamableHTTPClientTransport(new URL(target));
const waiting = new Map();
transport.onmessage = ({ id, result, error }) =>
  waiting.get(id)?.(error ? { kind: 'error', error } : { kind: 'result', result });
await transport.start();
let last = 0;
function rawDispatch({ method, params }) {
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    transport.send({ jsonrpc: '2.0', id, method, params }).catch(reject);
  });
}

const none = () => {
  throw new Error('the task asks for a form alone');
};
const onInputRequest = createApplicationInputHandler({
  elicitation: () => ({ action: 'accept', content: { name } }),
  sampling: none,
  roots: none
});
const session = createTaskSessionFromClient(client, {
  endpointId: 'tested',
  rawDispatch,
  v2RequestFraming: {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    clientInfo: ABOUT,
    clientCapabilities: { elicitation: {}, extensions: { [EXTENSION]: { binding: 'meta' } } }
  },
  onInputRequest,
  onError: error => say({ error: error.message })
});
const execution = await session.callTool('deploy', {});
for await (const event of execution.updates()) say(event.type === 'task' ? { task: event.task } : event);
await told();
await session.close();
await transport.close();
await client.close();

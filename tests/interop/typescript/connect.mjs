// Connects an official client: `auto` and `default` are the two modes of @modelcontextprotocol/client, `sdk1` is the
// package of the older versions. The target is a URL, or a command and its arguments as a JSON array.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export const STREAM = 'dev.streamres/stream';
export const EXTENSION = 'dev.streamres/streamable-resources';
export const ABOUT = { name: 'tested', version: '1.0.0' };

// With a binding, `meta` or `fields`, the client declares that it uses streamable resources, and where it wants them;
// `also` are its other capabilities.
export async function connect(kind, target, binding, also = {}) {
  const capabilities = { ...also, ...(binding && { extensions: { [EXTENSION]: { binding } } }) };
  const [Http, Stdio] = kind === 'sdk1' ? [Http1, Stdio1] : [StreamableHTTPClientTransport, StdioClientTransport];
  const client =
    kind === 'sdk1'
      ? new Client1(ABOUT, { capabilities })
      : new Client(ABOUT, { capabilities, ...(kind === 'auto' && { versionNegotiation: { mode: 'auto' } }) });
  if (target.startsWith('http')) {
    await client.connect(new Http(new URL(target)));
  } else {
    const [command, ...args] = JSON.parse(target);
    await client.connect(new Stdio({ command, args }));
  }
  return client;
}

// Serves Durable Streams in file mode over HTTP, and says the port: FOLDER.
import { DurableStreamTestServer } from "@durable-streams/server";

const server = new DurableStreamTestServer({ port: 0, host: "127.0.0.1", dataDir: process.argv[2] });
console.log(JSON.stringify({ port: Number(new URL(await server.start()).port) }));
